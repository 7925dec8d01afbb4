package debian

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// Untar unpacks a tar archive into dir, which must exist. Nothing gets out of it, whatever the archive says. Owners and
// times are not kept, and devices are left out, so that any user can do it.
func Untar(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	defer func() { _ = file.Close() }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	defer func() { _ = root.Close() }()
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpackEntry(root, header, reader)
		}
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", archive, err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := path.Clean(header.Name)
	if name == "." {
		return nil
	}
	mode := header.FileInfo().Mode().Perm()
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, mode|0o700) // Or what is in it could not be written.
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		return root.Link(path.Clean(header.Linkname), name)
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Close())
	}
	return nil
}
