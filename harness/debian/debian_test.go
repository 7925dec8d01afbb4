//go:build unix

package debian

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// output is a buffer that several goroutines may use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// fixture is a maker with a stand-in for mmdebstrap, which counts its runs in log and then does what body says.
type fixture struct {
	*maker
	out *output
	log string
}

func newFixture(t *testing.T, body string) fixture {
	t.Helper()
	dir, out := t.TempDir(), &output{}
	log, script := filepath.Join(dir, "log"), filepath.Join(dir, "mmdebstrap")
	text := "#!/bin/sh\nfor a; do case $a in *.part) target=$a;; esac; done\necho \"$*\" >>" + log + "\n" + body
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return fixture{out: out, log: log, maker: &maker{
		command: script, sources: func(string) string { return "" }, environ: os.Environ(), out: out, cache: filepath.Join(dir, "cache"),
	}}
}

func (f fixture) runs(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(f.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// left has what is in the cache beside locks.
func (f fixture) left(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(f.cache)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".lock") {
			names = append(names, entry.Name())
		}
	}
	return names
}

const succeed = "echo 'I: working...' >&2; cat >$target"

func TestTarballIsMadeOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, succeed)
	f.sources = func(suite string) string { return "deb mirror " + suite + " main\n" }
	path, err := f.tarball(t.Context(), Request{Packages: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(path); string(content) != "deb mirror bookworm main\n" {
		t.Errorf("mmdebstrap was given the sources %q", content)
	}
	for _, want := range []string{"making a file system of Debian bookworm, minbase a, b, once", "debian: working", "kept in " + path} {
		if !strings.Contains(f.out.String(), want) {
			t.Errorf("it did not say %q, but:\n%s", want, f.out)
		}
	}
	said := f.out.String()
	if again, err := f.tarball(t.Context(), Request{Suite: Bookworm, Variant: Minbase, Packages: []string{"a", "b"}}); err != nil || again != path {
		t.Errorf("the second time it returned %s, %v, want %s", again, err, path)
	}
	if len(f.runs(t)) != 1 || f.out.String() != said {
		t.Errorf("it was made again: %v\n%s", f.runs(t), f.out)
	}
	f.refresh = true
	if _, err := f.tarball(t.Context(), Request{Packages: []string{"a", "b"}}); err != nil || len(f.runs(t)) != 2 {
		t.Errorf("a refresh did not make it again: %v, %v", f.runs(t), err)
	}
}

func TestEachRequestHasItsOwnTarball(t *testing.T) {
	t.Parallel()
	keys := map[string]Request{}
	for _, r := range []Request{
		{}, {Suite: "trixie"}, {Variant: Extract}, {Packages: []string{"a"}}, {Packages: []string{"a", "b"}}, {Packages: []string{"a,b"}},
		{AptOptions: []string{"a"}}, {DpkgOptions: []string{"a"}}, {CustomizeHooks: []string{"a"}},
	} {
		if other, ok := keys[r.key()]; ok {
			t.Errorf("%+v and %+v have the same key", r, other)
		}
		keys[r.key()] = r
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	got := arguments(Request{
		Suite: "trixie", Variant: Extract, Packages: []string{"a", "b"},
		AptOptions: []string{"apt x"}, DpkgOptions: []string{"dpkg x"}, CustomizeHooks: []string{"hook x"},
	}, "target", "deb …")
	want := []string{
		"--variant=extract", "--format=tar", "--skip=output/dev", "--include=a,b", "--aptopt=apt x", "--dpkgopt=dpkg x",
		"--customize-hook=hook x", "--customize-hook=" + forgetHost, "trixie", "target", "-",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestTwoAtOnceMakeItOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, succeed)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := f.tarball(t.Context(), Request{}); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if runs := f.runs(t); len(runs) != 1 {
		t.Errorf("it was made %d times", len(runs))
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		says string
		want []string
	}{
		"Network":   {"W: Failed to fetch x  Temporary failure resolving 'mirror'", []string{"the Debian mirror cannot be reached", "Temporary failure resolving 'mirror'"}},
		"Disk":      {"dpkg-deb: error: No space left on device", []string{"a disk is full: free some space in TMPDIR", "where the result goes: dpkg-deb"}},
		"Package":   {"E: Unable to locate package nosuch", []string{"the mirror has no such package: E: Unable to locate package nosuch"}},
		"Signature": {"W: GPG error: NO_PUBKEY 1234", []string{"apt-get install debian-archive-keyring"}},
		"Other":     {"E: something else", []string{"it said last:\n", "E: something else"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "echo half >$target; echo \""+tc.says+"\" >&2; exit 1")
			_, err := f.tarball(t.Context(), Request{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(tc.want, "making a file system of Debian bookworm") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error has no %q:\n%v", want, err)
				}
			}
			if left := f.left(t); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.command = "no-such-mmdebstrap"
	if _, err := f.tarball(t.Context(), Request{}); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "apt-get install mmdebstrap") {
		t.Errorf("tarball() = %v, want the command that helps", err)
	}
}

// An interrupt reaches mmdebstrap, which cleans up after itself, and whatever it has started.
func TestInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, "echo half >$target; trap 'echo interrupted >>"+fifo+".log; exit 1' INT; echo $$ >"+fifo+"; while :; do sleep 1; done")
	ctx, interrupt := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := f.tarball(ctx, Request{})
		failed <- err
	}()
	started, err := os.ReadFile(fifo) // Opening it waits for the stand-in.
	if err != nil {
		t.Fatal(err)
	}
	interrupt()
	if err := <-failed; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "was stopped") {
		t.Errorf("tarball() = %v, want it to have been stopped", err)
	}
	if log, _ := os.ReadFile(fifo + ".log"); string(log) != "interrupted\n" {
		t.Errorf("mmdebstrap was not asked to end: %q", log)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(started)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
	if left := f.left(t); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}
