package keep

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
)

func write(content string) func(context.Context, string) error {
	return func(_ context.Context, path string) error { return os.WriteFile(path, []byte(content), 0o644) }
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func quiet(string, ...any) {}

func TestMakeKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	f := File{Path: filepath.Join(t.TempDir(), "deeper", "file"), Say: quiet}
	for _, text := range []string{"first", "second"} {
		if err := f.Make(t.Context(), write(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := content(t, f.Path); got != "first" {
		t.Errorf("the file was made again: %q", got)
	}
	f.Refresh = true
	if err := f.Make(t.Context(), write("third")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, f.Path); got != "third" {
		t.Errorf("the file was not refreshed: %q", got)
	}
}

func TestFileMadeMeanwhileIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	f := File{Path: filepath.Join(t.TempDir(), "file")}
	lock := flock.New(f.Path + ".lock")
	if held, err := lock.TryLock(); err != nil || !held {
		t.Fatalf("locking: %v, %v", held, err)
	}
	f.Say = func(string, ...any) { // Whoever has the lock ends when this one begins to wait.
		if err := errors.Join(write("another's")(t.Context(), f.Path), lock.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := f.Make(t.Context(), write("mine")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, f.Path); got != "another's" {
		t.Errorf("the file has %q", got)
	}
}

func TestFailedAttemptLeavesTheFileAsItWas(t *testing.T) {
	t.Parallel()
	f := File{Path: filepath.Join(t.TempDir(), "file"), Say: quiet}
	if err := f.Make(t.Context(), write("good")); err != nil {
		t.Fatal(err)
	}
	f.Refresh = true
	broken := errors.New("broken")
	err := f.Make(t.Context(), func(ctx context.Context, path string) error { return errors.Join(write("half")(ctx, path), broken) })
	if !errors.Is(err, broken) {
		t.Errorf("Make() = %v, want %v", err, broken)
	}
	if got := content(t, f.Path); got != "good" {
		t.Errorf("the file has %q", got)
	}
	if _, err := os.Stat(f.Path + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a file is left, or %v", err)
	}
}

func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	t.Parallel()
	f := File{Path: filepath.Join(t.TempDir(), "file"), Say: quiet}
	if err := write("a long half of another attempt")(t.Context(), f.Path+".part"); err != nil {
		t.Fatal(err)
	}
	if err := f.Make(t.Context(), func(_ context.Context, path string) error {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o644)
		return errors.Join(err, file.Close())
	}); err != nil {
		t.Fatal(err)
	}
}

func TestWaitingEndsWithTheContextAndSaysWhomFor(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	said := ""
	f := File{Path: filepath.Join(t.TempDir(), "file"), Say: func(format string, _ ...any) {
		said = format
		stop()
	}}
	lock := flock.New(f.Path + ".lock")
	if held, err := lock.TryLock(); err != nil || !held {
		t.Fatalf("locking: %v, %v", held, err)
	}
	defer func() { _ = lock.Close() }()
	if err := write("process 1")(ctx, lock.Path()); err != nil {
		t.Fatal(err)
	}
	err := f.Make(ctx, write("never"))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "waiting for process 1, which is making file") {
		t.Errorf("Make() = %v", err)
	}
	if !strings.HasPrefix(said, "waiting for") {
		t.Errorf("it said %q", said)
	}
}

func TestFullDiskIsOneClearLine(t *testing.T) {
	t.Parallel()
	f := File{Path: filepath.Join(t.TempDir(), "file"), Say: quiet}
	err := f.Make(t.Context(), func(context.Context, string) error { return &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC} })
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "is full: free some space, or set "+EnvDir) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Make() = %v", err)
	}
}

func TestUnusableCacheNamesTheVariable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "file")
	if err := write("no directory")(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	err := File{Path: filepath.Join(dir, "file"), Say: quiet}.Make(t.Context(), write("never"))
	if err == nil || !strings.Contains(err.Error(), "set "+EnvDir+" to one that is") {
		t.Errorf("Make() = %v", err)
	}
}

func TestRoot(t *testing.T) {
	t.Setenv(EnvDir, "/from/environment")
	for given, want := range map[string]string{"": "/from/environment", "/given": "/given"} {
		if got, err := Root(given); err != nil || got != want {
			t.Errorf("Root(%q) = %q, %v, want %q", given, got, err, want)
		}
	}
}
