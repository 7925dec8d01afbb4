// Package nodeimage gets the image of a kind cluster's nodes: the published one where it can be pulled, and otherwise one
// that is built here, from Go modules, Debian packages and the files in kind's own module.
//
// A built image is kept in the engine and, as an archive, in the user's cache. What it consists of is pinned, and a change
// of a pin makes another image. Its nodes need nothing that is not in it: they have a network with routes between them and
// with NetworkPolicy, cluster DNS, and all images of the control plane.
package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/harness/internal/keep"
)

// name is that of images built here, without a registry: nobody else has them.
const name = "harness-kind-node"

// Options say where to keep the image's archive and whom to tell about progress. The zero value is ready to use.
type Options struct {
	// Out receives progress; nothing is written when the image is there. Defaults to os.Stderr.
	Out io.Writer
	// CacheDir keeps archives and parts. Defaults to HARNESS_CACHE_DIR, then to a directory in the user's cache directory.
	CacheDir string
	// Build leaves the published image out of it.
	Build bool
}

// Ensure returns the name of a node image that the Docker engine has, pulling or building it when it has none.
// It is safe to call from several processes at once: one builds, the others wait for it.
// While it works, an interrupt or termination signal ends it with an error, leaving nothing half-made behind.
func Ensure(ctx context.Context, opts Options) (string, error) {
	b, err := newBuilder(opts)
	if err != nil {
		return "", err
	}
	return b.ensure(ctx)
}

// builder carries what Ensure depends on, so that tests can replace it.
type builder struct {
	docker    engine
	out       io.Writer
	cache     string
	published []string
	offline   bool
	// answerTimeout is how long a registry may take to say that it has an image.
	answerTimeout time.Duration
	// make builds the image with this name, and leaves it in the engine.
	make func(ctx context.Context, ref string) error
}

func newBuilder(opts Options) (*builder, error) {
	root, err := keep.Root(opts.CacheDir)
	if err != nil {
		return nil, err
	}
	b := &builder{
		docker: engine{command: "docker"}, out: opts.Out, cache: root,
		offline: os.Getenv("HARNESS_OFFLINE") != "", answerTimeout: 5 * time.Second,
	}
	if b.out == nil {
		b.out = os.Stderr
	}
	if !opts.Build {
		// The second is the one that kind itself would take. It may be of another patch release.
		b.published = []string{"kindest/node:" + binaries.KubernetesVersion, defaults.Image}
	}
	b.make = b.build
	return b, nil
}

// Ref is the name of the image that is built from the current pins.
func Ref() string { return name + ":" + binaries.KubernetesVersion + "-" + key() }

func (b *builder) ensure(ctx context.Context) (string, error) {
	if err := b.docker.check(ctx); err != nil {
		return "", err
	}
	ref := Ref()
	for _, there := range append([]string{ref}, b.published...) {
		if b.docker.has(ctx, there) {
			return there, nil
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	archive := filepath.Join(b.cache, "node", ref[len(name)+1:]+"-"+runtime.GOARCH+".tar")
	if _, err := os.Stat(archive); err == nil {
		return ref, b.load(ctx, archive, ref)
	}
	pulled, why := b.pull(ctx)
	if pulled != "" {
		return pulled, nil
	}
	if err := context.Cause(ctx); err != nil {
		return "", fmt.Errorf("getting a node image was stopped: %w", err)
	}
	b.say("building the node image %s from source, once for this user: it could not be pulled (%s)", ref, why)
	if err := b.buildAndKeep(ctx, archive, ref); err != nil {
		return "", err
	}
	return ref, nil
}

// buildAndKeep builds the image and saves it, unless another process is doing so.
func (b *builder) buildAndKeep(ctx context.Context, archive, ref string) error {
	started := time.Now()
	file := keep.File{Path: archive, Say: b.say}
	err := file.Make(ctx, func(ctx context.Context, part string) error {
		if err := b.make(ctx, ref); err != nil {
			return err
		}
		done := b.step("saving the image for other engines of this user", 10*time.Second)
		defer done()
		_, err := b.docker.run(ctx, nil, "save", "--output", part, ref)
		return err
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return fmt.Errorf("building the node image was stopped: %w", cause)
	}
	if err != nil {
		return fmt.Errorf("building the node image %s: %w", ref, err)
	}
	if !b.docker.has(ctx, ref) { // Another process has built it, in another engine.
		return b.load(ctx, archive, ref)
	}
	b.say("node image %s built in %s; kept in %s", ref, time.Since(started).Round(time.Second), archive)
	return nil
}

// load gives the engine an image that was built before.
func (b *builder) load(ctx context.Context, archive, ref string) error {
	done := b.step("loading the node image from "+archive, 15*time.Second)
	defer done()
	if _, err := b.docker.run(ctx, nil, "load", "--quiet", "--input", archive); err != nil {
		return fmt.Errorf("loading the node image: %w; delete %s if it is damaged", err, archive)
	}
	if !b.docker.has(ctx, ref) {
		return fmt.Errorf("loading the node image: %s has no image %s: delete it, and it is made again", archive, ref)
	}
	return nil
}

// pull asks the registry for a published image, and says why there is none.
func (b *builder) pull(ctx context.Context) (string, error) {
	if b.offline {
		return "", errors.New("HARNESS_OFFLINE is set")
	}
	why := errors.New("the published one is not wanted")
	for _, ref := range b.published {
		err := b.pullOne(ctx, ref)
		if err == nil {
			return ref, nil
		}
		why = err
		if errors.Is(err, errNoAnswer) {
			break // One registry has them all.
		}
	}
	return "", why
}

var errNoAnswer = errors.New("the registry does not answer")

// pullOne gives up when nothing comes for a while: Docker itself would try for minutes. Once a registry has answered, the
// pull may take its time.
func (b *builder) pullOne(ctx context.Context, ref string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(b.answerTimeout, func() { cancel(fmt.Errorf("%w within %s", errNoAnswer, b.answerTimeout)) })
	defer silence.Stop()
	return b.docker.stream(ctx, func(line string) {
		if silence.Stop() {
			b.say("pulling %s", ref)
		}
		b.say("%s", line)
	}, "pull", ref)
}

// step says what begins and how long it usually takes, and returns what to call when it is over.
func (b *builder) step(what string, usually time.Duration) func() {
	started := time.Now()
	b.say("%s (about %s)", what, usually)
	return func() { b.say("%s: %s", what, time.Since(started).Round(100*time.Millisecond)) }
}

// say prints one line of progress.
func (b *builder) say(format string, args ...any) {
	fmt.Fprintf(b.out, "harness: "+format+"\n", args...)
}
