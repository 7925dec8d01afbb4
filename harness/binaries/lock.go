package binaries

import (
	"context"
	"os"
	"path/filepath"

	"github.com/example-inc/memcached-operator/harness/internal/keep"
)

// exclusively runs do while no other process makes the same file, and not at all when another has made it meanwhile.
func (f *finder) exclusively(ctx context.Context, path string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return f.cache.unusable(err)
	}
	return keep.Exclusively(ctx, path, f.say, func() error {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		return do()
	})
}
