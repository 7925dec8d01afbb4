package binaries

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantBuilt checks that the go command made each program, with the module's flags.
func wantBuilt(t *testing.T, paths Paths, tools ...Tool) {
	t.Helper()
	for _, tool := range tools {
		out, err := exec.CommandContext(t.Context(), paths[tool]).CombinedOutput() //nolint:gosec // It was just built.
		if err != nil || !strings.HasSuffix(string(out), string(tool)+" stamped\n") {
			t.Errorf("%s was not built as told: %q, %v", tool, out, err)
		}
	}
}

func TestBuildsFromSource(t *testing.T) {
	t.Parallel()
	fix, out := newFixture(t), newOutput()
	paths, err := fix.finder(out).ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantBuilt(t, paths, All()...)
	if left := leftovers(t, fix.Cache); len(left) != len(All()) {
		t.Errorf("the cache has more than the programs: %v", left)
	}
	for _, want := range []string{
		"building etcd, kube-apiserver, kubectl, kube-controller-manager, kube-scheduler, kwok, kwokctl from source",
		"127.0.0.1:1: connect: connection refused",
		"15 packages to compile and 7 programs to link: about", // One shared, and two for each program less its main package.
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}

	out = newOutput()
	again, err := fix.finder(out).ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(paths, again); diff != "" {
		t.Errorf("paths of the second call (-first +second):\n%s", diff)
	}
	if out.String() != "" {
		t.Errorf("nothing had to be done, but it said:\n%s", out)
	}
}

// The number of packages to do has to be what the go command then names, or the bar lies.
func TestCountsOnlyWhatTheBuildCacheLacks(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	counted := regexp.MustCompile(`(\d+) packages to compile`)
	for _, step := range []struct {
		reason string
		tools  []Tool
		want   string
	}{
		{"shared, own and main package are new", []Tool{Kubectl}, "3"},
		{"shared is there already", []Tool{Kwok, Kwokctl}, "4"},
	} {
		out := newOutput()
		if _, err := fix.finder(out).ensure(t.Context(), step.tools...); err != nil {
			t.Fatal(err)
		}
		if got := counted.FindStringSubmatch(out.String()); got == nil || got[1] != step.want {
			t.Errorf("%s: counted %v, want %s in:\n%s", step.reason, got, step.want, out)
		}
	}
	fix.Cache = filepath.Join(t.TempDir(), "fresh")
	out := newOutput()
	if _, err := fix.finder(out).ensure(t.Context(), Kubectl, Kwok, Kwokctl); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "0 packages to compile and 3 programs to link") {
		t.Errorf("a warm build cache was not seen:\n%s", out)
	}
}

func TestEnvtestIsMadeFirst(t *testing.T) {
	t.Parallel()
	got, err := inOrder([]Tool{Kwok, Kubectl, KubeScheduler, Etcd, Kwok, KubeAPIServer})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Tool{Etcd, KubeAPIServer, Kubectl, KubeScheduler, Kwok}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if _, err := inOrder([]Tool{"kubectx"}); err == nil || !strings.HasPrefix(err.Error(), `unknown tool "kubectx": have etcd, kube-apiserver`) {
		t.Errorf("an unknown tool must be refused by name, got %v", err)
	}
}

func TestCallersGoSettingsDoNotMatter(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	f := fix.finder(newOutput())
	f.environ = append(f.environ, "GOFLAGS=-mod=vendor -tags=evil", "GOWORK=/nowhere/go.work", "GOOS=plan9", "GOARCH=mips",
		"GO111MODULE=off", "CGO_ENABLED=1", "GOTOOLCHAIN=go1.1", "GOTMPDIR=/nowhere", "GOEXPERIMENT=nosuch")
	paths, err := f.ensure(t.Context(), Etcd)
	if err != nil {
		t.Fatal(err)
	}
	wantBuilt(t, paths, Etcd)
}

// kubebuilder#819, #1599, #2390: a missing program came to light as "fork/exec …/etcd: no such file" after five tries.
func TestMissingBinaryNamesPlacesAndTheCommandThatFixesIt(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	fix.GoTool = "no-such-go"
	f := fix.finder(newOutput())
	_, err := f.ensure(t.Context(), Etcd, Kubectl)
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok {
		t.Fatalf("want a NotFoundError, got %v", err)
	}
	if diff := cmp.Diff([]Tool{Etcd, Kubectl}, missing.Tools); diff != "" {
		t.Errorf("missing tools (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		"etcd, kubectl not found: building etcd, kubectl from source needs the go command",
		"$TEST_ASSET_ETCD (not set), " + f.cached(Etcd),
		"$TEST_ASSET_KUBECTL (not set), " + f.cached(Kubectl),
		"$KUBEBUILDER_ASSETS (not set)",
		"downloads: 127.0.0.1:1: ",
		"run: go run github.com/example-inc/memcached-operator/harness/cmd/binaries etcd kubectl",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestBuildFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(t *testing.T, fix *fixture, f *finder)
		want   string
		cause  error
	}{
		"DoesNotCompile": {
			reason: "what the compiler said is what one needs to know",
			change: func(t *testing.T, fix *fixture, _ *finder) {
				fix.write(t, "own/etcd/own.go", "package etcd\n\nconst Name = undefinedName\n")
			},
			want: "undefined: undefinedName",
		},
		"NoModules": {
			reason: "without a module proxy there is one thing to set",
			change: func(_ *testing.T, fix *fixture, f *finder) {
				fix.Module = "module example.com/build\n\ngo 1.26.0\n\nrequire example.com/never v1.0.0\n"
				f.modules = fix.finder(f.out).modules
				f.modules[0].packages[Etcd] = "example.com/never"
				f.modules[0].gosum = []byte("example.com/never v1.0.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n" +
					"example.com/never v1.0.0/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n")
				f.environ = append(f.environ, "GOPROXY="+deadEnd)
			},
			want: "module sources cannot be fetched; set GOPROXY to a module proxy that this machine reaches",
		},
		"DiskTooSmall": {
			reason: "a build that cannot end well is not begun",
			change: func(_ *testing.T, _ *fixture, f *finder) {
				f.freeSpace = func(string) (uint64, error) { return 1 << 20, nil }
			},
			want: "is full: this needs about 515 MiB there; free some, or set HARNESS_CACHE_DIR and GOCACHE to another disk", cause: syscall.ENOSPC,
		},
		"DiskFillsUp": {
			reason: "the go command's own words name a temporary file that nobody knows",
			change: func(t *testing.T, _ *fixture, f *finder) {
				f.goTool = script(t, "[ $1 != build ] || { echo 'write $WORK/b001/_pkg_.a: no space left on device' >&2; exit 1; }\nexec go \"$@\"")
			},
			want: "is full: this needs about 1.0 GiB there", cause: syscall.ENOSPC,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fix := newFixture(t)
			f := fix.finder(newOutput())
			tc.change(t, fix, f)
			_, err := f.ensure(t.Context(), Etcd)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%s: want %q in: %v", tc.reason, tc.want, err)
			}
			if tc.cause != nil && !errors.Is(err, tc.cause) {
				t.Errorf("%s: the cause is not %v: %v", tc.reason, tc.cause, err)
			}
			if left := leftovers(t, fix.Cache); len(left) != 0 {
				t.Errorf("%s: left behind %v", tc.reason, left)
			}
		})
	}
}

// script makes a stand-in for the go command, for what the real one does not do on demand.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go")
	writeFile(t, path, "#!/bin/sh\n"+body+"\n", 0o755)
	return path
}

func TestUnusableCacheDirectory(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	fix.Cache = filepath.Join(t.TempDir(), "file")
	writeFile(t, fix.Cache, "", 0o644)
	_, err := fix.finder(newOutput()).ensure(t.Context(), Etcd)
	if err == nil || !strings.Contains(err.Error(), "the cache directory "+fix.Cache+" is not usable (set HARNESS_CACHE_DIR to one that is)") {
		t.Errorf("want one line that names the directory and the variable, got %v", err)
	}

	fix.Env["TEST_ASSET_ETCD"] = program(t, t.TempDir(), "etcd")
	if _, err := fix.finder(newOutput()).ensure(t.Context(), Etcd); err != nil {
		t.Errorf("what the environment names needs no cache: %v", err)
	}
}

func TestCacheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		reason string
		opts   Options
		env    map[string]string
		want   string
	}{
		"Option":   {"the option is nearest", Options{CacheDir: dir}, map[string]string{"HARNESS_CACHE_DIR": "/other"}, dir},
		"Variable": {"the variable comes next", Options{}, map[string]string{"HARNESS_CACHE_DIR": dir}, dir},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := newFinder(tc.opts, func(name string) string { return tc.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			if f.cache.root != tc.want || f.out != os.Stderr {
				t.Errorf("%s: cache %s, output %v, want %s and standard error", tc.reason, f.cache.root, f.out, tc.want)
			}
		})
	}
}
