package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/harness/debian"
)

const (
	// cleanUpTimeout is how long removing what a failed build has left may take.
	cleanUpTimeout = 30 * time.Second
	// abandoned is how long the container of a build lives that was killed without a chance to clean up, in seconds.
	abandoned = "3600"
)

// build makes the image from parts that are cached each by itself, so that an interrupted build goes on where it was.
func (b *builder) build(ctx context.Context, ref string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a node image can be built on Linux only, not on %s: make one there and load it by docker load", runtime.GOOS)
	}
	rootfs, err := debian.Tarball(ctx, debian.Options{Out: b.out, CacheDir: b.cache}, rootFileSystem())
	if err != nil {
		return err
	}
	paths, err := binaries.Ensure(ctx, binaries.Options{Out: b.out, CacheDir: b.cache, Pinned: true}, programs()...)
	if err != nil {
		return err
	}
	// Whoever builds this image holds its lock, and so owns the directory; one that was killed may have left it.
	work := filepath.Join(b.cache, "node", strings.TrimPrefix(ref, name+":")+".work")
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		return fmt.Errorf("making a directory for the parts: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	kind, err := fetchKind(ctx, work)
	if err != nil {
		return err
	}
	a := &assembly{builder: b, ref: ref, base: strings.Replace(ref, name, name+"-base", 1), work: work}
	defer a.discard(ctx, "image", "rm", "--no-prune", a.base)
	if err := a.makeBase(ctx, rootfs, kind, paths); err != nil {
		return err
	}
	images, err := a.images(ctx, rootfs, kind, paths)
	if err != nil {
		return err
	}
	return a.fill(ctx, images)
}

// assembly is the part of a build that needs the engine.
type assembly struct {
	*builder
	ref, base, work string
}

// makeBase makes the image of a node that has no images of its own yet.
func (a *assembly) makeBase(ctx context.Context, rootfs, kind string, paths binaries.Paths) error {
	done := a.step("making the node's file system", 10*time.Second)
	defer done()
	base, err := baseImage(ctx, rootfs, kind, paths)
	if err != nil {
		return err
	}
	base.Ref = a.base
	archive := filepath.Join(a.work, "base.tar")
	if err := base.Write(archive); err != nil {
		return err
	}
	if _, err := a.docker.run(ctx, nil, "load", "--quiet", "--input", archive); err != nil {
		return err
	}
	return os.Remove(archive)
}

// images writes the archives of the control plane's images.
func (a *assembly) images(ctx context.Context, rootfs, kind string, paths binaries.Paths) (map[string]string, error) {
	done := a.step("making the images of the control plane", 20*time.Second)
	defer done()
	pause, err := pauseImage(kind)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(a.work, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return nil, fmt.Errorf("unpacking Debian: %w", err)
	}
	if err := debian.Untar(rootfs, root); err != nil {
		return nil, err
	}
	images, err := controlPlaneImages(ctx, root, pause, paths)
	if err != nil {
		return nil, err
	}
	archives := map[string]string{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, img := range images {
		archive := filepath.Join(a.work, fmt.Sprintf("image-%d.tar", i))
		archives[img.Ref] = archive
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return img.Write(archive)
		})
	}
	return archives, group.Wait()
}

// fill has a node's own containerd take the images, and makes an image of that node.
func (a *assembly) fill(ctx context.Context, images map[string]string) error {
	done := a.step("giving the node its images", 15*time.Second)
	defer done()
	container := strings.ReplaceAll(a.base, ":", "-")
	_, _ = a.docker.run(ctx, nil, "rm", "--force", "--volumes", container) // A build that was killed may have left it.
	_, err := a.docker.run(ctx, nil, "run", "--detach", "--privileged", "--network", "none", "--name", container,
		"--stop-signal", stopSignal, // The image inherits it.
		"--entrypoint", "timeout", a.base, abandoned, "containerd")
	defer a.discard(ctx, "rm", "--force", "--volumes", container)
	if err != nil {
		return fmt.Errorf("starting a privileged container, as kind does for its nodes; the engine must allow it: %w", err)
	}
	if _, err := a.docker.run(ctx, nil, "exec", container, "bash", "-c", awaitContainerd); err != nil {
		return fmt.Errorf("starting containerd in a node: %w", err)
	}
	for ref, archive := range images {
		if err := a.importImage(ctx, container, archive); err != nil {
			return fmt.Errorf("importing %s: %w", ref, err)
		}
	}
	if err := a.checkImages(ctx, container, images); err != nil {
		return err
	}
	if _, err := a.docker.run(ctx, nil, "kill", "--signal", "TERM", container); err != nil {
		return err
	}
	if _, err := a.docker.run(ctx, nil, "wait", container); err != nil {
		return err
	}
	_, err = a.docker.run(ctx, nil, append(append([]string{"commit"}, commitChanges...), container, a.ref)...)
	return err
}

// awaitContainerd is a script for a node.
const awaitContainerd = `for _ in {1..100}; do ctr version >/dev/null 2>&1 && exit; sleep 0.1; done
echo "it does not answer within 10 s" >&2; exit 1`

func (a *assembly) importImage(ctx context.Context, container, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	// Pinned images are not collected when a disk fills up: nobody could pull them again.
	_, err = a.docker.run(ctx, io.Reader(file), "exec", "--interactive", container, "ctr", "--namespace=k8s.io", "images", "import",
		"--all-platforms", "--no-unpack", "--label=io.cri-containerd.pinned=pinned", "-")
	return err
}

// checkImages asks the node whether it has all of each image: an import that misses something does not fail.
func (a *assembly) checkImages(ctx context.Context, container string, images map[string]string) error {
	out, err := a.docker.run(ctx, nil, "exec", container, "ctr", "--namespace=k8s.io", "images", "check")
	if err != nil {
		return fmt.Errorf("checking the images of a node: %w", err)
	}
	return missingImages(out, images)
}

// missingImages reads a table with a name and, in the fourth column, a state for each image.
func missingImages(table string, images map[string]string) error {
	var whole []string
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[3] == "complete" {
			whole = append(whole, fields[0])
		}
	}
	var errs []error
	for ref := range images {
		// A short name has a default host in front of it.
		if !slices.ContainsFunc(whole, func(name string) bool { return name == ref || strings.HasSuffix(name, "/"+ref) }) {
			errs = append(errs, fmt.Errorf("the node does not have all of %s after the import:\n%s", ref, table))
		}
	}
	return errors.Join(errs...)
}

// discard removes something from the engine, also when ctx has ended.
func (a *assembly) discard(ctx context.Context, args ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	if _, err := a.docker.run(ctx, nil, args...); err != nil && !strings.Contains(strings.ToLower(err.Error()), "no such") {
		a.say("cannot clean up: %v", err)
	}
}
