// Package image writes container images without an engine and without a registry: archives that docker load,
// kind load image-archive and ctr images import take. An archive is for one platform, since kind refuses to load what is
// for several and has only one of them (kubernetes-sigs/kind#3795), and the same input makes the same bytes.
package image

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is a container image for Linux on this machine's architecture.
type Image struct {
	// Ref is the name and tag that the image has when it is loaded.
	Ref string
	// Base is a tar archive, not compressed, with a file system that lies below Files, such as package debian makes. None if empty.
	Base string
	// Files are on top of Base, or all that there is. Their order does not matter.
	Files []File

	Entrypoint, Cmd, Env []string
	User, WorkDir        string
	Labels               map[string]string

	// Compress makes the layers smaller and their writing slower.
	Compress bool
}

// File is a file, symbolic link or directory of an image. It belongs to root, and so do the directories above it, which
// need not be listed.
type File struct {
	// Path is where the file is in the image, from the root.
	Path string
	// Source is the file on disk with the content. It is read when the image is written, and never held in memory.
	Source string
	// Data is the content, instead of Source. An empty file has Data that is empty but not nil.
	Data []byte
	// Link is the target of a symbolic link, instead of content.
	Link string
	// Mode has the permissions, fs.ModeSetuid and its like, and fs.ModeDir for a directory. Zero means that the executable
	// bit is taken from Source.
	Mode fs.FileMode
}

// Write writes the image's archive to path, which appears whole or not at all.
func (img Image) Write(path string) error {
	built, err := img.build()
	if err != nil {
		return img.failed(err)
	}
	tag, err := name.NewTag(img.Ref, name.WeakValidation)
	if err != nil {
		return img.failed(err)
	}
	if err := writeWhole(path, func(file io.Writer) error { return tarball.Write(tag, built, file) }); err != nil {
		return img.failed(err)
	}
	return nil
}

// Rewrite writes an archive at path with only what one platform needs of the image ref in the archive saved, which an engine
// may have filled with more.
func Rewrite(saved, ref, path string) error {
	tag, err := name.NewTag(ref, name.WeakValidation)
	if err != nil {
		return fmt.Errorf("rewriting %s: %w", saved, err)
	}
	img, err := tarball.ImageFromPath(saved, &tag)
	if err == nil {
		err = writeWhole(path, func(file io.Writer) error { return tarball.Write(tag, img, file) })
	}
	if err != nil {
		return fmt.Errorf("rewriting %s, which should have %s: %w", saved, ref, err)
	}
	return nil
}

// writeWhole has do write a file under a name of its own, since somebody else may be writing the same one.
func writeWhole(path string, do func(io.Writer) error) error {
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	if err = errors.Join(do(part), part.Chmod(0o644), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}

// ID is the digest that engines show as the image's id. It depends on everything but Ref, and so can be a part of it.
func (img Image) ID() (string, error) {
	built, err := img.build()
	if err != nil {
		return "", img.failed(err)
	}
	id, err := built.ConfigName()
	if err != nil {
		return "", img.failed(err)
	}
	return id.String(), nil
}

func (img Image) failed(err error) error { return fmt.Errorf("making image %s: %w", img.Ref, err) }

func (img Image) build() (v1.Image, error) {
	var layers []v1.Layer
	below := tree{}
	if img.Base != "" {
		var err error
		if below, err = readTree(img.Base); err != nil {
			return nil, err
		}
		base, err := img.layer(func() (io.ReadCloser, error) { return os.Open(img.Base) })
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", img.Base, err)
		}
		layers = append(layers, base)
	}
	if len(img.Files) > 0 {
		entries, err := arrange(img.Files, below)
		if err != nil {
			return nil, err
		}
		top, err := img.layer(func() (io.ReadCloser, error) { return stream(entries), nil })
		if err != nil {
			return nil, err
		}
		layers = append(layers, top)
	}
	config, err := mutate.ConfigFile(empty.Image, img.config())
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(config, layers...)
}

func (img Image) config() *v1.ConfigFile {
	return &v1.ConfigFile{
		OS:           "linux",
		Architecture: runtime.GOARCH,
		Created:      v1.Time{Time: time.Unix(0, 0).UTC()}, // Now would make every image another one.
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: slices.Clone(img.Entrypoint),
			Cmd:        slices.Clone(img.Cmd),
			Env:        slices.Clone(img.Env),
			User:       img.User,
			WorkingDir: img.WorkDir,
			Labels:     img.Labels,
		},
	}
}
