package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
)

// cache is a directory with one directory per version, platform and set of pinned dependencies, so that a change of any
// of them never meets a program made before.
type cache struct{ root string }

// path is where a tool is kept.
func (c cache) path(m module, tool Tool) string {
	return filepath.Join(c.root, m.key(), tool.file())
}

// key tells this module's programs from any others.
func (m module) key() string {
	sum := sha256.New()
	parts := [][]byte{m.gomod, m.gosum, []byte(m.ldflags)}
	if m.tags != "" {
		parts = append(parts, []byte(m.tags))
	}
	for _, part := range parts {
		fmt.Fprintf(sum, "%d\n%s", len(part), part)
	}
	return fmt.Sprintf("%s-%s-%s-%s-%s", m.name, m.version, runtime.GOOS, runtime.GOARCH, hex.EncodeToString(sum.Sum(nil))[:12])
}

// Fingerprint tells this set of pinned programs from any other, without having to make them.
func Fingerprint(tools ...Tool) string {
	f := finder{modules: modules()}
	sum := sha256.New()
	for _, tool := range tools {
		fmt.Fprintf(sum, "%s %s\n", tool, f.moduleOf(tool).key())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// workspace is a directory for half-made files. It is on the cache's own file system, so that finished files move in one step.
type workspace struct {
	dir  string
	lock *flock.Flock
}

// workspace makes a new workspace and removes those whose owners are gone.
func (c cache) workspace() (*workspace, error) {
	tmp := filepath.Join(c.root, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, c.unusable(err)
	}
	c.sweep(tmp)
	dir, err := os.MkdirTemp(tmp, "work-")
	if err != nil {
		return nil, c.unusable(err)
	}
	w := &workspace{dir: dir, lock: flock.New(dir + ".lock")}
	if err := w.lock.Lock(); err != nil {
		return nil, c.unusable(errors.Join(err, os.RemoveAll(dir)))
	}
	return w, nil
}

func (c cache) unusable(err error) error {
	return fmt.Errorf("the cache directory %s is not usable (set HARNESS_CACHE_DIR to one that is): %w", c.root, err)
}

// sweep removes workspaces that a killed process left behind: nobody holds their lock any more.
func (c cache) sweep(tmp string) {
	locks, _ := filepath.Glob(filepath.Join(tmp, "work-*.lock"))
	for _, path := range locks {
		lock := flock.New(path, flock.SetFlag(os.O_RDWR))
		if held, err := lock.TryLock(); held && err == nil {
			(&workspace{dir: path[:len(path)-len(".lock")], lock: lock}).remove()
		}
	}
}

// remove is best effort: what it cannot remove, the next sweep will.
func (w *workspace) remove() {
	_ = os.RemoveAll(w.dir)
	_ = os.Remove(w.lock.Path())
	_ = w.lock.Close()
}

// install moves a finished file to its place; whoever looks there sees all of it or nothing, also after a power cut.
func install(from, to string) error {
	if err := os.Chmod(from, 0o755); err != nil {
		return err
	}
	if err := syncFile(from); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncDir makes a rename durable where the system can; some file systems refuse to sync a directory.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return errors.Join(err, dir.Close())
	}
	return dir.Close()
}
