package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// archive is an image archive and what it claims to hold.
type archive struct {
	path   string
	images map[string]string // Ids by name.
}

// readArchives reads the tables of contents of image archives, before there is a cluster for them.
func readArchives(paths []string) ([]archive, error) {
	archives := make([]archive, 0, len(paths))
	for _, path := range paths {
		manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) }) //nolint:gosec // The caller names it.
		if err != nil {
			return nil, fmt.Errorf("reading the image archive %s: %w: want one as docker save writes it", path, err)
		}
		a := archive{path: path, images: map[string]string{}}
		for _, image := range manifest {
			for _, name := range image.RepoTags {
				a.images[name] = imageID(image.Config)
			}
		}
		if len(a.images) == 0 {
			return nil, fmt.Errorf("reading the image archive %s: no image in it has a name", path)
		}
		archives = append(archives, a)
	}
	return archives, nil
}

// imageID is the id of the image whose configuration has this name in an archive: both are the configuration's digest.
func imageID(config string) string {
	name := strings.TrimSuffix(filepath.Base(config), ".json")
	return "sha256:" + strings.TrimPrefix(name, "sha256:")
}

// loadImages gives every node the images of all archives, one node beside the other, and looks whether each has them:
// an import may succeed and leave an image out (kind#3795).
func loadImages(ctx context.Context, to []nodes.Node, archives []archive) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, node := range to {
		group.Go(func() error {
			for _, a := range archives {
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				if err := a.load(node); err != nil {
					return fmt.Errorf("loading %s onto %s: %w", a.path, node, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (a archive) load(node nodes.Node) error {
	file, err := os.Open(a.path)
	if err != nil {
		return err
	}
	err = nodeutils.LoadImageArchive(node, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	for name, want := range a.images {
		id, err := nodeutils.ImageID(node, name)
		if err != nil {
			return fmt.Errorf("the node does not have %s afterwards: %w", name, err)
		}
		if id != want {
			return fmt.Errorf("the node has %s with the id %s, the archive with %s", name, id, want)
		}
	}
	return nil
}
