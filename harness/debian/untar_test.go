package debian

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pack makes a tar archive; the content of a file is its name.
func pack(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(file)
	for _, header := range headers {
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(header.Name))
		}
		err := archive.WriteHeader(&header)
		if header.Typeflag == tar.TypeReg {
			_, writeErr := archive.Write([]byte(header.Name))
			err = errors.Join(err, writeErr)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUntar(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := Untar(pack(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		tar.Header{Name: "./usr/bin/", Typeflag: tar.TypeDir, Mode: 0o555},
		tar.Header{Name: "./usr/bin/tool", Typeflag: tar.TypeReg, Mode: 0o755},
		tar.Header{Name: "./bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"},
		tar.Header{Name: "./bin/more", Typeflag: tar.TypeReg, Mode: 0o644},
		tar.Header{Name: "./usr/bin/same", Typeflag: tar.TypeLink, Linkname: "./usr/bin/tool"},
		tar.Header{Name: "./usr/bin/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
	), dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"usr/bin/tool": "./usr/bin/tool", "usr/bin/more": "./bin/more", "usr/bin/same": "./usr/bin/tool"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != want {
			t.Errorf("%s has %q, %v, want %q", name, content, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "usr/bin/tool")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the tool is %v, %v, want it to be executable", info, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "usr/bin/null")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the device was made, or %v", err)
	}
}

func TestUntarStaysInsideItsDirectory(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]tar.Header{
		"Above":    {{Name: "../out", Typeflag: tar.TypeReg}},
		"Absolute": {{Name: "/out", Typeflag: tar.TypeReg}},
		"Link":     {{Name: "link", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "link/out", Typeflag: tar.TypeReg}},
		"HardLink": {{Name: "link", Typeflag: tar.TypeLink, Linkname: "../secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir := filepath.Join(parent, "dir")
			if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(parent, "secret"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			if err := Untar(pack(t, headers...), dir); err == nil || !strings.HasPrefix(err.Error(), "unpacking ") {
				t.Errorf("Untar() = %v, want an error", err)
			}
			if _, err := os.Lstat(filepath.Join(parent, "out")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something got out: %v", err)
			}
		})
	}
}
