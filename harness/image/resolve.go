package image

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links the kernel follows before it calls them a loop.
const maxLinks = 40

// place is where a path below a root leads to.
type place struct {
	real  string
	links []File
}

// disk is where a path below the root is on this machine; all links in it must have been resolved.
func (c *closure) disk(real string) string { return filepath.Join(c.root, filepath.FromSlash(real)) }

// take adds the links on the way to a place.
func (c *closure) take(p place) {
	for _, link := range p.links {
		c.files[link.Path] = link
	}
}

// resolve follows links as if root were the root: an absolute one begins there, and none leads out of it.
func (c *closure) resolve(name string) (place, error) {
	var found place
	at, rest := "/", parts(path.Clean("/"+name))
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(c.disk(next))
		if err != nil {
			return place{}, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(c.disk(next))
		if err != nil {
			return place{}, err
		}
		if found.links = append(found.links, File{Path: next, Link: target}); len(found.links) > maxLinks {
			return place{}, fmt.Errorf("following %s: %w", name, syscall.ELOOP)
		}
		if path.IsAbs(target) {
			at = "/"
		}
		rest = append(parts(target), rest...)
	}
	found.real = at
	return found, nil
}

// parts are the names in a path. That of the root has none.
func parts(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}
