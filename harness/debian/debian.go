// Package debian makes file systems of Debian packages: a root file system for the images of nodes, or just the files of a
// few packages with all that they depend on. It needs mmdebstrap and a Debian mirror, and no container engine.
//
// What it has made is kept in the user's cache, by what was asked for, and is not made again: a mirror's newer packages are
// taken once HARNESS_REFRESH is set, or Options.Refresh, or the pinned Suite changes.
package debian

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/example-inc/memcached-operator/harness/internal/keep"
)

const (
	// Bookworm is the suite that is known to work: its systemd boots on both versions of control groups.
	Bookworm = "bookworm"
	// Minbase is the variant of mmdebstrap's that is a small system.
	Minbase = "minbase"
	// Extract is the variant that is nothing but the files of the packages; no script of theirs has run.
	Extract = "extract"

	// EnvRefresh names the variable that, set to anything, makes everything again.
	EnvRefresh = "HARNESS_REFRESH"

	// recipe changes when the same request makes something else than before.
	recipe = "1"
)

// Request says what a file system consists of. The same request makes the same bytes from the same packages.
type Request struct {
	// Suite is Debian's release; Bookworm if empty.
	Suite string
	// Variant is one of mmdebstrap's; Minbase if empty.
	Variant string
	// Packages are added to the variant's, with all that they depend on.
	Packages []string
	// AptOptions and DpkgOptions are lines of apt.conf and dpkg.cfg, such as path-exclude=/usr/share/man/*.
	AptOptions, DpkgOptions []string
	// CustomizeHooks are commands for a shell, run when all is installed, with the root directory as $1.
	CustomizeHooks []string
}

// Options say where to keep the file systems and whom to tell about progress. The zero value is ready to use.
type Options struct {
	// Out receives progress; nothing is written when all is there. Defaults to os.Stderr.
	Out io.Writer
	// CacheDir keeps the file systems. Defaults to HARNESS_CACHE_DIR, then to a directory in the user's cache directory.
	CacheDir string
	// Refresh makes the file system again from the mirror's current packages.
	Refresh bool
}

// Tarball returns the path of a tar archive with the file system that is asked for, made now or kept from before.
// Several processes may call it at once; one makes the archive. An interrupt ends it with an error and leaves nothing.
func Tarball(ctx context.Context, opts Options, request Request) (string, error) {
	m, err := newMaker(opts)
	if err != nil {
		return "", err
	}
	return m.tarball(ctx, request)
}

// Unpack unpacks packages and all that they depend on into dir, which must exist. Nothing is installed: no script of theirs runs.
func Unpack(ctx context.Context, opts Options, dir string, packages ...string) error {
	archive, err := Tarball(ctx, opts, Request{Variant: Extract, Packages: packages})
	if err != nil {
		return err
	}
	return Untar(archive, dir)
}

// maker carries what Tarball depends on, so that tests can replace it.
type maker struct {
	command string
	sources func(suite string) string
	environ []string
	out     io.Writer
	cache   string
	refresh bool
}

func newMaker(opts Options) (*maker, error) {
	root, err := keep.Root(opts.CacheDir)
	if err != nil {
		return nil, err
	}
	m := &maker{
		command: "mmdebstrap", sources: hostSources, environ: os.Environ(), out: opts.Out,
		cache: filepath.Join(root, "debian"), refresh: opts.Refresh || os.Getenv(EnvRefresh) != "",
	}
	if m.out == nil {
		m.out = os.Stderr
	}
	return m, nil
}

func (m *maker) tarball(ctx context.Context, request Request) (string, error) {
	if request.Suite == "" {
		request.Suite = Bookworm
	}
	if request.Variant == "" {
		request.Variant = Minbase
	}
	path := filepath.Join(m.cache, request.key()+".tar")
	file := keep.File{Path: path, Refresh: m.refresh, Say: m.say}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := file.Make(ctx, func(ctx context.Context, part string) error {
		m.say("making %s, once for this user; about a minute", request)
		started := time.Now()
		if err := m.run(ctx, request, part); err != nil {
			return err
		}
		m.say("made in %s; kept in %s", time.Since(started).Round(time.Second), path)
		return nil
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return "", fmt.Errorf("making %s was stopped: %w", request, cause)
	}
	if err != nil {
		return "", fmt.Errorf("making %s: %w", request, err)
	}
	return path, nil
}

// key tells a request from any other. It leaves out the mirror: all of them have the same packages.
func (r Request) key() string {
	text, err := json.Marshal(r)
	sum := sha256.Sum256(append(text, recipe...))
	if err != nil { // Strings alone can always be marshalled.
		panic(errors.Join(errors.New("marshalling a request"), err))
	}
	return fmt.Sprintf("%s-%s-%s-%s", r.Suite, r.Variant, runtime.GOARCH, hex.EncodeToString(sum[:])[:12])
}

// String describes what is asked for.
func (r Request) String() string {
	what := strings.Join(r.Packages, ", ")
	if len(r.Packages) > 3 {
		what = fmt.Sprintf("%d packages", len(r.Packages))
	}
	return strings.TrimSpace("a file system of Debian " + r.Suite + ", " + r.Variant + " " + what)
}

// say prints one line of progress.
func (m *maker) say(format string, args ...any) { fmt.Fprintf(m.out, "harness: "+format+"\n", args...) }
