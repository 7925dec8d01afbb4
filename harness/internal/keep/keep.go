// Package keep makes files in the cache that all checkouts of a user share: each is made by one process while others wait
// for it, and appears whole or not at all.
package keep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// EnvDir names the variable that says where the cache is.
const EnvDir = "HARNESS_CACHE_DIR"

// lockPoll is how often a waiting process looks whether it is its turn.
const lockPoll = 200 * time.Millisecond

// Root is the cache's directory: dir, or what HARNESS_CACHE_DIR names, or one in the user's cache directory.
func Root(dir string) (string, error) {
	root := cmp.Or(dir, os.Getenv(EnvDir))
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding a cache directory (set %s): %w", EnvDir, err)
		}
		root = filepath.Join(user, "memcached-operator-harness")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w", err)
	}
	return root, nil
}

// File is a file of the cache.
type File struct {
	// Path is where the file is, or will be.
	Path string
	// Refresh makes the file again although it is there.
	Refresh bool
	// Say tells people what they wait for.
	Say func(format string, args ...any)
}

// Make returns at once when the file is there; otherwise it has do write it under another name, and then gives it its own.
// Nothing of a failed or interrupted attempt stays: the next one removes what a killed process has left.
func (f File) Make(ctx context.Context, do func(ctx context.Context, path string) error) error {
	if f.isThere() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return unusable(filepath.Dir(f.Path), err)
	}
	return Exclusively(ctx, f.Path, f.Say, func() error {
		if f.isThere() {
			return nil
		}
		return f.write(ctx, do)
	})
}

// write makes the file while nobody else does.
func (f File) write(ctx context.Context, do func(ctx context.Context, path string) error) error {
	part := f.Path + ".part" // Whoever holds the lock owns it.
	if err := os.RemoveAll(part); err != nil {
		return unusable(filepath.Dir(f.Path), err)
	}
	err := do(ctx, part)
	if err == nil {
		err = errors.Join(sync(part), os.Rename(part, f.Path))
	}
	if err != nil {
		return errors.Join(Explain(err, filepath.Dir(f.Path)), os.RemoveAll(part))
	}
	return nil
}

func (f File) isThere() bool {
	info, err := os.Stat(f.Path)
	return !f.Refresh && err == nil && info.Mode().IsRegular()
}

// Exclusively runs do while no other process makes the file of that path, whose directory must exist. It waits for one that
// does, and says so. Whether the file is there by then, do has to see.
func Exclusively(ctx context.Context, path string, say func(format string, args ...any), do func() error) error {
	lock := flock.New(path + ".lock")
	held, err := lock.TryLock()
	if err == nil && !held {
		say("waiting for %s, which is making %s", owner(lock.Path()), filepath.Base(path))
		held, err = lock.TryLockContext(ctx, lockPoll)
	}
	if err != nil || !held {
		return fmt.Errorf("waiting for %s, which is making %s: %w", owner(lock.Path()), filepath.Base(path), err)
	}
	defer func() { _ = lock.Close() }() // The file stays: removing it would let two processes lock two files of one name.
	// Who holds the lock is only told to people, so that failing to write it down does no harm.
	_ = os.WriteFile(lock.Path(), fmt.Appendf(nil, "process %d", os.Getpid()), 0o644)
	return do()
}

// owner says who holds a lock.
func owner(path string) string {
	if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
		return strings.TrimSpace(string(data))
	}
	return "another process"
}

// sync makes sure that a file's name never outlives its content.
func sync(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func unusable(dir string, err error) error {
	return fmt.Errorf("the cache directory %s is not usable (set %s to one that is): %w", dir, EnvDir, err)
}

// Explain says in one line what to do about a full disk; other errors stay as they are.
func Explain(err error, dir string) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk that holds %s is full: free some space, or set %s to a directory on another disk: %w", dir, EnvDir, syscall.ENOSPC)
	}
	return err
}
