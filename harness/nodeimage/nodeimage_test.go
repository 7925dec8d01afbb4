package nodeimage

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// published stands for the image of a registry.
const published = "example/node:v1"

// fakeDocker is a docker command that keeps its images as files in its directory and writes down what it is asked for.
// What images are called has no slash there.
const fakeDocker = `#!/bin/bash
cd "$(dirname "$0")"
echo "$@" >>calls
case $1 in
version) [[ -e dead ]] && { printf 'A warning\nCannot connect to the Docker daemon\n' >&2; exit 1; }; echo 29 ;;
image) [[ -e images/${!#//\//_} ]] ;;
load) name=$(<"${!#}"); touch "images/$name" ;;
save) basename "${!#}" >"$3" ;;
pull)
  [[ -e silent ]] && exec sleep 60
  [[ -e registry/${2//\//_} ]] || { echo "manifest unknown" >&2; exit 1; }
  echo "Pulling from example"
  touch "images/${2//\//_}" ;;
esac
`

// script is the command's file. It is written before anything runs: a file that is open for writing somewhere, be it in a
// process that another test is about to start, cannot be executed.
var script string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nodeimage-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	script = filepath.Join(dir, "docker")
	if err := os.WriteFile(script, []byte(fakeDocker), 0o755); err != nil {
		panic(err)
	}
	return m.Run()
}

// fixture is a builder with a fake engine.
type fixture struct {
	*builder
	dir   string
	out   bytes.Buffer
	built int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	fix := &fixture{dir: t.TempDir()}
	for _, dir := range []string{"images", "registry"} {
		if err := os.Mkdir(filepath.Join(fix.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := filepath.Join(fix.dir, "docker")
	if err := os.Symlink(script, command); err != nil {
		t.Fatal(err)
	}
	fix.builder = &builder{
		docker: engine{command: command}, out: &fix.out, cache: filepath.Join(fix.dir, "cache"),
		published: []string{published}, answerTimeout: 10 * time.Second,
		make: func(context.Context, string) error {
			fix.built++
			fix.touch(t, "images/"+Ref())
			return nil
		},
	}
	return fix
}

func (fix *fixture) touch(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(fix.dir, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// calls are the verbs of the docker commands so far.
func (fix *fixture) calls(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fix.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for line := range strings.Lines(string(data)) {
		verbs = append(verbs, strings.Fields(line)[0])
	}
	return verbs
}

func TestWhereTheImageComesFrom(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		before func(t *testing.T, fix *fixture)
		want   string
		calls  []string
		built  int
		says   []string
	}{
		"InEngine": {
			reason: "an image that is there costs two questions and no word",
			before: func(t *testing.T, fix *fixture) { fix.touch(t, "images/"+Ref()) },
			want:   Ref(), calls: []string{"version", "image"},
		},
		"PublishedInEngine": {
			reason: "what was pulled before is as good",
			before: func(t *testing.T, fix *fixture) { fix.touch(t, "images/example_node:v1") },
			want:   published, calls: []string{"version", "image", "image"},
		},
		"Pulled": {
			reason: "a registry that answers saves the build",
			before: func(t *testing.T, fix *fixture) { fix.touch(t, "registry/example_node:v1") },
			want:   published, calls: []string{"version", "image", "image", "pull"}, says: []string{"pulling " + published},
		},
		"NotPublished": {
			reason: "a registry without the image is a reason to build it",
			before: func(*testing.T, *fixture) {},
			want:   Ref(), calls: []string{"version", "image", "image", "pull", "save", "image"}, built: 1,
			says: []string{"once for this user: it could not be pulled (docker pull: manifest unknown)", "kept in"},
		},
		"Offline": {
			reason: "who is offline need not ask",
			before: func(_ *testing.T, fix *fixture) { fix.offline = true },
			want:   Ref(), calls: []string{"version", "image", "image", "save", "image"}, built: 1, says: []string{"HARNESS_OFFLINE is set"},
		},
		"RegistrySilent": {
			reason: "Docker would go on trying for minutes",
			before: func(t *testing.T, fix *fixture) {
				fix.answerTimeout = 100 * time.Millisecond
				fix.published = append(fix.published, "example/node:v2")
				fix.touch(t, "silent")
			},
			want: Ref(), calls: []string{"version", "image", "image", "image", "pull", "save", "image"}, built: 1,
			says: []string{"the registry does not answer within 100ms"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fix := newFixture(t)
			tc.before(t, fix)
			got, err := fix.ensure(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if got != tc.want || fix.built != tc.built {
				t.Errorf("%s: got %s after %d builds, want %s after %d", tc.reason, got, fix.built, tc.want, tc.built)
			}
			if diff := cmp.Diff(tc.calls, fix.calls(t)); diff != "" {
				t.Errorf("%s: docker commands (-want +got):\n%s", tc.reason, diff)
			}
			for _, want := range tc.says {
				if !strings.Contains(fix.out.String(), want) {
					t.Errorf("%s: %q is missing in:\n%s", tc.reason, want, &fix.out)
				}
			}
			if len(tc.says) == 0 && fix.out.Len() > 0 {
				t.Errorf("%s: nothing was to be done, but it said:\n%s", tc.reason, &fix.out)
			}
		})
	}
}

func TestAnotherEngineGetsTheArchive(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	if _, err := fix.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(fix.dir, "images", Ref())); err != nil {
		t.Fatal(err)
	}
	got, err := fix.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got != Ref() || fix.built != 1 {
		t.Errorf("got %s after %d builds, want %s after 1", got, fix.built, Ref())
	}
	want := []string{"version", "image", "image", "load", "image"}
	if calls := fix.calls(t); len(calls) < len(want) || cmp.Diff(want, calls[len(calls)-len(want):]) != "" {
		t.Errorf("want the archive loaded and nothing else, got %v", calls)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		before func(t *testing.T, fix *fixture)
		want   string
	}{
		"NoDocker": {
			reason: "a missing command is not a failed one",
			before: func(_ *testing.T, fix *fixture) { fix.docker.command = "no-such-docker" },
			want:   "a kind cluster needs Docker, and no-such-docker is not in PATH: install Docker, or choose a level that needs none",
		},
		"NoEngine": {
			reason: "the command alone makes no cluster",
			before: func(t *testing.T, fix *fixture) { fix.touch(t, "dead") },
			want:   "the Docker engine does not answer: start it, or let this user talk to it: docker version: Cannot connect to the Docker daemon",
		},
		"BuildFails": {
			reason: "the cause is named together with what was made",
			before: func(_ *testing.T, fix *fixture) {
				fix.make = func(context.Context, string) error { return errors.New("no space") }
			},
			want: "building the node image " + Ref() + ": no space",
		},
		"ArchiveDamaged": {
			reason: "an archive with something else in it would fail again for ever",
			before: func(t *testing.T, fix *fixture) {
				if _, err := fix.ensure(t.Context()); err != nil {
					t.Fatal(err)
				}
				archives, err := filepath.Glob(filepath.Join(fix.cache, "node", "*.tar"))
				if err != nil || len(archives) != 1 {
					t.Fatalf("want one archive, have %v, %v", archives, err)
				}
				err = errors.Join(os.WriteFile(archives[0], []byte("other"), 0o644), os.Remove(filepath.Join(fix.dir, "images", Ref())))
				if err != nil {
					t.Fatal(err)
				}
			},
			want: "has no image " + Ref() + ": delete it, and it is made again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fix := newFixture(t)
			tc.before(t, fix)
			_, err := fix.ensure(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%s: want %q in: %v", tc.reason, tc.want, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: want one line, got: %v", tc.reason, err)
			}
		})
	}
}

func TestStoppedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	fix.make = func(ctx context.Context, _ string) error {
		cancel()
		return ctx.Err()
	}
	if _, err := fix.ensure(ctx); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "building the node image was stopped") {
		t.Errorf("want to hear that it was stopped, got %v", err)
	}
	left, err := filepath.Glob(filepath.Join(fix.cache, "node", "*.tar*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if filepath.Ext(path) != ".lock" {
			t.Errorf("left behind %s", path)
		}
	}
}
