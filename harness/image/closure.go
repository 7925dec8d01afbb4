package image

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// commandDirs are searched for programs that are named without a directory.
var commandDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// libraryDirs are those that loaders search, together with the directory of their platform in the first two.
var libraryDirs = []string{"/lib", "/usr/lib", "/lib64", "/usr/lib64"}

// Closure returns what programs need to run in an image with nothing else in it: themselves, the loader, and all shared
// libraries that they name, with the symbolic links on the way. The programs are in an unpacked file system below root and
// named by their path in it, by a name that is looked up in the usual directories, or by a directory, which stands for all
// files in it. What a program opens only while it runs, such as plug-ins, has to be named.
//
// Libraries are found as the loader finds them without its cache: in the usual directories, and in those that a program
// or a library names itself.
func Closure(root string, programs ...string) ([]File, error) {
	c := &closure{root: root, files: map[string]File{}}
	for _, program := range programs {
		if err := c.add(program); err != nil {
			return nil, fmt.Errorf("collecting %s from %s: %w", program, root, err)
		}
	}
	if len(c.missing) > 0 {
		return nil, fmt.Errorf("collecting the libraries of %s from %s: %w", strings.Join(programs, ", "), root, errors.Join(c.missing...))
	}
	files := make([]File, 0, len(c.files))
	for _, file := range c.files {
		files = append(files, file)
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

// closure is what has been collected so far.
type closure struct {
	root    string
	dirs    []string
	files   map[string]File
	missing []error
}

// add adds what a caller has named.
func (c *closure) add(program string) error {
	found, err := c.lookUp(program)
	if err != nil {
		return err
	}
	info, err := os.Lstat(c.disk(found.real))
	if err != nil {
		return err
	}
	c.take(found)
	if !info.IsDir() {
		return c.load(found.real, false)
	}
	entries, err := os.ReadDir(c.disk(found.real))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		inside, err := c.resolve(path.Join(found.real, entry.Name()))
		if err != nil {
			return err
		}
		c.take(inside)
		if info, err := os.Lstat(c.disk(inside.real)); err != nil || !info.Mode().IsRegular() {
			continue // Directories in directories are not the caller's programs.
		}
		if err := c.load(inside.real, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *closure) lookUp(program string) (place, error) {
	if strings.Contains(program, "/") {
		return c.resolve(program)
	}
	for _, dir := range commandDirs {
		if found, err := c.resolve(path.Join(dir, program)); err == nil {
			return found, nil
		}
	}
	return place{}, fmt.Errorf("there is no such program in %s", strings.Join(commandDirs, ", "))
}

// load adds a file, and its libraries if it is a program or a library itself.
func (c *closure) load(real string, anything bool) error {
	if _, ok := c.files[real]; ok {
		return nil
	}
	c.files[real] = File{Path: real, Source: c.disk(real)}
	object, err := readObject(c.disk(real))
	if anything && errors.Is(err, errNoProgram) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", real, err)
	}
	if object.loader != "" {
		loader, err := c.resolve(object.loader)
		if err != nil {
			c.missing = append(c.missing, fmt.Errorf("the loader %s, which %s needs, is not there: unpack the C library's package too", object.loader, real))
		} else {
			c.take(loader)
			if err := c.load(loader.real, false); err != nil {
				return err
			}
		}
	}
	for _, library := range object.libraries {
		if err := c.loadLibrary(library, object, real); err != nil {
			return err
		}
	}
	return nil
}

// loadLibrary adds the first file of that name that is for the machine of the object that needs it.
func (c *closure) loadLibrary(library string, by object, byPath string) error {
	dirs := append(by.searched(path.Dir(byPath)), c.libraryDirs()...)
	for _, dir := range dirs {
		found, err := c.resolve(path.Join(dir, library))
		if err != nil {
			continue
		}
		if object, err := readObject(c.disk(found.real)); err != nil || object.machine != by.machine {
			continue
		}
		c.take(found)
		return c.load(found.real, false)
	}
	c.missing = append(c.missing, fmt.Errorf("%s, which %s needs, is in none of %s: unpack its package too", library, byPath, strings.Join(dirs, ", ")))
	return nil
}

// libraryDirs are the directories of root that the loader searches.
func (c *closure) libraryDirs() []string {
	if c.dirs != nil {
		return c.dirs
	}
	for _, dir := range libraryDirs[:2] {
		if found, err := c.resolve(dir); err == nil {
			platforms, _ := filepath.Glob(filepath.Join(c.disk(found.real), "*-linux-*"))
			for _, platform := range platforms {
				c.dirs = append(c.dirs, path.Join(dir, filepath.Base(platform)))
			}
		}
	}
	c.dirs = append(c.dirs, libraryDirs...)
	return c.dirs
}

// object is what the loader wants to know of a program or library.
type object struct {
	machine   elf.Machine
	loader    string
	libraries []string
	paths     []string
}

// errNoProgram is what reading a script or data is answered with.
var errNoProgram = errors.New("it is no ELF program or library")

func readObject(name string) (object, error) {
	file, err := os.Open(name)
	if err != nil {
		return object{}, err
	}
	defer func() { _ = file.Close() }()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := file.ReadAt(magic, 0); err != nil || string(magic) != elf.ELFMAG {
		return object{}, errNoProgram
	}
	parsed, err := elf.NewFile(file)
	if err != nil {
		return object{}, err
	}
	return parseObject(parsed)
}

func parseObject(parsed *elf.File) (object, error) {
	o := object{machine: parsed.Machine}
	var err error
	for _, segment := range parsed.Progs {
		if segment.Type == elf.PT_INTERP {
			name := make([]byte, segment.Filesz)
			if _, err := segment.ReadAt(name, 0); err != nil {
				return object{}, err
			}
			o.loader = strings.TrimRight(string(name), "\x00")
		}
	}
	if o.libraries, err = parsed.ImportedLibraries(); err != nil {
		return object{}, err
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		paths, err := parsed.DynString(tag)
		if err != nil {
			return object{}, err
		}
		for _, list := range paths {
			o.paths = append(o.paths, strings.Split(list, ":")...)
		}
		if len(paths) > 0 {
			break // The newer tag replaces the older one.
		}
	}
	return o, nil
}

// searched are the directories that an object in dir names itself.
func (o object) searched(dir string) []string {
	dirs := make([]string, 0, len(o.paths))
	for _, name := range o.paths {
		dirs = append(dirs, strings.NewReplacer("${ORIGIN}", dir, "$ORIGIN", dir).Replace(name))
	}
	return dirs
}
