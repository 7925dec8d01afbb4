package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example-inc/memcached-operator/harness/debian"
	"github.com/example-inc/memcached-operator/harness/image"
)

const (
	memcachedName = "memcached"
	// memcachedUser is the one of the official image, which the Deployments of the operator name.
	memcachedUser = "11211:11211"
	// labelStandIn tells the image that is made here from the official one.
	labelStandIn = "com.example.stand-in"

	managerFlags = "cmd/manager/config.go"
	imageDefault = "defaultMemcachedImage"
)

// memcached gets the image that the operator runs where a Memcached names none: the official one, or, where that cannot be
// had, Debian's memcached under the same name.
func (w workshop) memcached(ctx context.Context) ([]product, error) {
	ref, err := defaultImage(managerFlags)
	if err != nil {
		return nil, err
	}
	p := product{name: memcachedName, ref: ref, path: w.path(memcachedName)}
	official, there := kind(p)
	if official {
		return []product{p}, nil
	}
	why := w.pull(ctx, p)
	if why == nil {
		return []product{p}, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("getting %s was stopped: %w", ref, context.Cause(ctx))
	}
	if !there {
		w.say("%s cannot be pulled (%v): Debian's memcached stands in", ref, why)
	}
	p, err = w.standIn(ctx, ref)
	return []product{p}, err
}

// kind says whether the archive of an image is there, and whether it is the official one.
func kind(p product) (official, there bool) {
	tag, err := name.NewTag(p.ref)
	if err != nil {
		return false, false
	}
	img, err := tarball.ImageFromPath(p.path, &tag)
	if err != nil {
		return false, false
	}
	config, err := img.ConfigFile()
	if err != nil {
		return false, false
	}
	return config.Config.Labels[labelStandIn] == "", true
}

// standIn makes an image of Debian's memcached and its libraries.
func (w workshop) standIn(ctx context.Context, ref string) (product, error) {
	root, err := os.MkdirTemp("", "memcached-")
	if err != nil {
		return product{}, fmt.Errorf("making %s (TMPDIR chooses where): %w", ref, err)
	}
	p, err := w.standInOf(ctx, root, ref)
	return p, errors.Join(err, os.RemoveAll(root))
}

func (w workshop) standInOf(ctx context.Context, root, ref string) (product, error) {
	if err := debian.Unpack(ctx, debian.Options{}, root, "memcached"); err != nil {
		return product{}, fmt.Errorf("making %s: %w", ref, err)
	}
	files, err := image.Closure(root, "/usr/bin/memcached")
	if err != nil {
		return product{}, fmt.Errorf("making %s: %w", ref, err)
	}
	return w.keep(memcachedName, ref, standInImage(files))
}

func standInImage(files []image.File) image.Image {
	return image.Image{
		Files:      files,
		Entrypoint: []string{"memcached"},
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, // The operator gives no directory either.
		User:       memcachedUser,
		Labels:     map[string]string{labelStandIn: "Debian's memcached"},
	}
}

// defaultImage reads the default of the manager's flag where it is written down: the manager has to run to tell.
func defaultImage(file string) (string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("looking for memcached's image (run this in the project's directory): %w", err)
	}
	found := ""
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || spec.Names[0].Name != imageDefault {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			found, _ = strconv.Unquote(literal.Value)
		}
		return false
	})
	if found == "" {
		return "", fmt.Errorf("looking for memcached's image: %s has no constant %s", file, imageDefault)
	}
	return found, nil
}
