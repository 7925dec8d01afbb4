package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// populate makes a file system of files, by path; a content that begins with -> is a link's target.
func populate(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		path = filepath.Join(root, path)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = errors.Join(err, os.Symlink(target, path))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(content), 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// program is a program that needs no library, as far as its headers say.
func program(t *testing.T) string {
	t.Helper()
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Shentsize: 64,
	}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01") // 64 bits, little endian, version 1.
	var out bytes.Buffer
	if err := binary.Write(&out, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestClosureOfARealProgramRunsAlone(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"ls": "/usr/bin/ls", "/bin/tar": "/bin/tar"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			files, err := Closure("/", name)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			materialize(t, root, files)
			out, err := alone(t, root, path)
			if errors.Is(err, syscall.EPERM) {
				t.Logf("this user may not change the root directory, so %s was not run", name)
				return
			}
			if err != nil || !strings.Contains(out, "GNU") {
				t.Errorf("%s does not run with nothing but %v: %v\n%s", name, files, err, out)
			}
		})
	}
}

// materialize puts files where an engine would, by way of the archive.
func materialize(t *testing.T, root string, files []File) {
	t.Helper()
	entries, err := arrange(files, tree{})
	if err != nil {
		t.Fatal(err)
	}
	content := stream(entries)
	defer func() { _ = content.Close() }()
	cmd := exec.CommandContext(t.Context(), "tar", "--extract", "--directory", root)
	cmd.Stdin = io.Reader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("unpacking: %v\n%s", err, out)
	}
}

// alone asks a program for its version with another root directory, and in a user namespace where this user is not root.
func alone(t *testing.T, root, path string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, "--version")
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestClosureNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	ls, err := os.ReadFile("/bin/ls")
	if err != nil {
		t.Fatal(err)
	}
	root := populate(t, map[string]string{"usr/bin/ls": string(ls), "usr/bin/script": "#!/bin/sh\n", "a": "->b", "b": "->a"})
	for name, tc := range map[string]struct {
		program string
		want    []string
	}{
		"Libraries": {"ls", []string{"libc.so.6, which /usr/bin/ls needs, is in none of /lib, ", "the loader /lib", "unpack its package too"}},
		"Program":   {"no-such", []string{"collecting no-such from " + root, "there is no such program in /usr/local/sbin, "}},
		"Path":      {"/no/such", []string{"collecting /no/such from " + root}},
		"Script":    {"script", []string{"reading /usr/bin/script: it is no ELF program"}},
		"Loop":      {"/a", []string{"following /a: too many levels of symbolic links"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := Closure(root, tc.program)
			if err == nil {
				t.Fatalf("no error, but %v", files)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error has no %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestClosureFollowsLinksInsideTheRoot(t *testing.T) {
	t.Parallel()
	root := populate(t, map[string]string{
		"bin":                   "->usr/bin",
		"usr/bin/tool":          "->/etc/alternatives/tool",
		"etc/alternatives/tool": "->../../../../opt/tool-1",
		"opt/tool-1":            program(t),
		"opt/unrelated":         program(t),
	})
	got, err := Closure(root, "/bin/tool", "/opt/tool-1")
	if err != nil {
		t.Fatal(err)
	}
	want := []File{
		{Path: "/bin", Link: "usr/bin"},
		{Path: "/etc/alternatives/tool", Link: "../../../../opt/tool-1"},
		{Path: "/opt/tool-1", Source: root + "/opt/tool-1"},
		{Path: "/usr/bin/tool", Link: "/etc/alternatives/tool"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestClosureOfADirectoryHasItsPlugIns(t *testing.T) {
	t.Parallel()
	root := populate(t, map[string]string{
		"usr/lib/tool/plug-in.so":  program(t),
		"usr/lib/tool/data":        "no program",
		"usr/lib/tool/deeper/more": "not asked for",
	})
	got, err := Closure(root, "/usr/lib/tool")
	if err != nil {
		t.Fatal(err)
	}
	paths := make([]string, 0, len(got))
	for _, file := range got {
		paths = append(paths, file.Path)
	}
	if want := []string{"/usr/lib/tool/data", "/usr/lib/tool/plug-in.so"}; !slices.Equal(paths, want) {
		t.Errorf("have %v, want %v", paths, want)
	}
}

// A library for another machine is what the loader passes over, too.
func TestClosurePassesOverAnotherMachinesLibrary(t *testing.T) {
	t.Parallel()
	files, err := Closure("/", "ls")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	materialize(t, root, files)
	i := slices.IndexFunc(files, func(f File) bool { return f.Source != "" && strings.HasSuffix(f.Path, "/libc.so.6") })
	foreign := []byte(program(t))
	foreign[18] = byte(elf.EM_RISCV) // The machine's place in the header.
	if err := os.WriteFile(filepath.Join(root, files[i].Path), foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	if files, err := Closure(root, "ls"); err == nil || !strings.Contains(err.Error(), "libc.so.6, which ") {
		t.Errorf("Closure() = %v, %v, want libc.so.6 to be missing", files, err)
	}
}
