package image

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
)

// tree has the directories, with a type of fs.ModeDir, and the symbolic links of a file system.
type tree map[string]fs.FileMode

// readTree reads the tree of a tar archive.
func readTree(archive string) (tree, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("reading the base: %w", err)
	}
	defer func() { _ = file.Close() }()
	found := tree{}
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the base %s (a plain tar archive is needed): %w", archive, err)
		}
		switch header.Typeflag {
		case tar.TypeDir:
			found[relative(header.Name)] = fs.ModeDir
		case tar.TypeSymlink:
			found[relative(header.Name)] = fs.ModeSymlink
		}
	}
}

// relative is the path of a file without the leading slash, as tar wants it.
func relative(name string) string { return path.Clean("/" + name)[1:] }

// entry is a file with what its archive needs.
type entry struct {
	File
	name string
	mode fs.FileMode
}

// arrange sorts files and adds the directories above them that neither they nor the tree below has.
func arrange(files []File, below tree) ([]entry, error) {
	entries := map[string]entry{}
	for _, file := range files {
		e, err := newEntry(file)
		if err != nil {
			return nil, err
		}
		if other, ok := entries[e.name]; ok && !reflect.DeepEqual(e, other) {
			return nil, fmt.Errorf("two different files have the path /%s", e.name)
		}
		if below[e.name] == fs.ModeDir && !e.mode.IsDir() {
			return nil, fmt.Errorf("/%s would replace a directory of the base", e.name)
		}
		entries[e.name] = e
	}
	for _, file := range files {
		if err := addParents(entries, relative(file.Path), below); err != nil {
			return nil, err
		}
	}
	sorted := make([]entry, 0, len(entries))
	for _, e := range entries {
		sorted = append(sorted, e)
	}
	slices.SortFunc(sorted, func(a, b entry) int { return cmp.Compare(a.name, b.name) }) // A directory's name is a prefix.
	return sorted, nil
}

// addParents adds the directories above a file. One that the base has must not be listed again, which would change its
// mode; and where the base has a link, a directory would hide all that is behind the link.
func addParents(entries map[string]entry, name string, below tree) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if e, ok := entries[dir]; ok {
			if !e.mode.IsDir() {
				return fmt.Errorf("/%s cannot be below /%s, which is no directory: use the path that the link leads to", name, dir)
			}
			continue
		}
		switch below[dir] {
		case fs.ModeDir:
		case fs.ModeSymlink:
			return fmt.Errorf("/%s cannot be below /%s, which is a link in the base: use the path that it leads to", name, dir)
		default:
			entries[dir] = entry{name: dir, mode: fs.ModeDir | 0o755}
		}
	}
	return nil
}

// newEntry checks a file and settles its mode.
func newEntry(file File) (entry, error) {
	e := entry{File: file, name: relative(file.Path), mode: file.Mode}
	if !strings.HasPrefix(file.Path, "/") || e.name == "" {
		return entry{}, fmt.Errorf("file %q: the path has to begin at the root and to name a file there", file.Path)
	}
	kinds := 0
	for _, is := range []bool{file.Source != "", file.Data != nil, file.Link != "", file.Mode.IsDir()} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return entry{}, fmt.Errorf("file %s: one of Source, Data, Link and a Mode with fs.ModeDir is needed, not %d", file.Path, kinds)
	}
	e.Path = "/" + e.name
	if file.Source != "" {
		info, err := os.Stat(file.Source)
		if err != nil {
			return entry{}, fmt.Errorf("adding %s: %w", file.Path, err)
		}
		if !info.Mode().IsRegular() {
			return entry{}, fmt.Errorf("adding %s: %s is not a file", file.Path, file.Source)
		}
		// Not all bits: they depend on the umask of whoever made the file.
		if e.mode == 0 && info.Mode()&0o100 != 0 {
			e.mode = 0o755
		}
	}
	switch e.mode {
	case fs.ModeDir:
		e.mode |= 0o755
	case 0:
		e.mode = 0o644
	}
	return e, nil
}
