package binaries

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is how often a waiting process looks whether it is its turn.
const lockPoll = 200 * time.Millisecond

// exclusively runs do while no other process makes the same file, and not at all when another has made it meanwhile.
func (f *finder) exclusively(ctx context.Context, path string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return f.cache.unusable(err)
	}
	lock := flock.New(path + ".lock")
	held, err := lock.TryLock()
	if err == nil && !held {
		f.say("waiting for %s, which is making %s", owner(lock.Path()), filepath.Base(path))
		held, err = lock.TryLockContext(ctx, lockPoll)
	}
	if err != nil || !held {
		return fmt.Errorf("waiting for %s, which is making %s: %w", owner(lock.Path()), filepath.Base(path), err)
	}
	defer func() { _ = lock.Close() }() // The file stays: removing it would let two processes lock two files of one name.

	if _, err := os.Stat(path); err == nil {
		return nil
	}
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
