package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example-inc/memcached-operator/harness/image"
)

// tagLength is how much of an image's digest tells it from others.
const tagLength = 12

// path is where the archive of a name is.
func (w workshop) path(name string) string { return filepath.Join(w.out, name+".tar") }

// keep writes an image's archive unless it is there already. Where ref names no tag for it, the tag is the content's.
func (w workshop) keep(name, ref string, img image.Image) (product, error) {
	img.Ref = ref
	id, err := img.ID()
	if err != nil {
		return product{}, err
	}
	if ref == "" {
		img.Ref = name + ":" + id[len("sha256:"):][:tagLength]
	}
	p := product{name: name, ref: img.Ref, path: w.path(name)}
	if config, refs := contents(p.path); config == id && slices.Equal(refs, []string{p.ref}) {
		return p, nil
	}
	if err := img.Write(p.path); err != nil {
		return product{}, err
	}
	info, err := os.Stat(p.path)
	if err != nil {
		return product{}, fmt.Errorf("looking at what was written: %w", err)
	}
	w.say("wrote %s with %s, %.0f MB", p.path, p.ref, float64(info.Size())/1e6)
	return p, nil
}

// contents are the id and the names of the image in an archive; nothing where there is no archive of one image.
func contents(path string) (id string, refs []string) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) })
	if err != nil || len(manifest) != 1 {
		return "", nil
	}
	return manifest[0].Config, manifest[0].RepoTags
}
