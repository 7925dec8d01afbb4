package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// engine is a fake docker in PATH. It answers as an engine does that has one node image and nothing else.
type engine struct {
	dir string
	// says overrides what is answered: a shell command by a pattern of the arguments.
	says map[string]string
}

const obliging = `
"version "*) echo amd64 ;;
"image inspect "*) echo amd64 ;;
"run "*) echo v1.37.2 ;;
"ps "*) ;;
"rm "*) ;;
"info "*) echo '{"CgroupVersion":"2"}' ;;
*) echo "the fake knows no $*" >&2; exit 1 ;;
`

// fakeEngine puts a fake docker first in PATH, for tests that change nothing of the real one's.
func fakeEngine(t *testing.T, says map[string]string) *engine {
	t.Helper()
	e := &engine{dir: t.TempDir(), says: says}
	var b strings.Builder
	b.WriteString("#!/bin/sh\nhere=" + e.dir + "\necho \"$*\" >>$here/calls\ncase \"$*\" in\n")
	for pattern, command := range says {
		fmt.Fprintf(&b, "%s) %s ;;\n", pattern, command)
	}
	b.WriteString(obliging + "esac\n")
	if err := os.WriteFile(filepath.Join(e.dir, "docker"), []byte(b.String()), 0o700); err != nil { //nolint:gosec // It is to be executed.
		t.Fatal(err)
	}
	t.Setenv("PATH", e.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return e
}

// calls are the arguments of all calls so far.
func (e *engine) calls(t *testing.T) []string {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(e.dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(log)), "\n")
}

func TestKindRefusesInOneLineAndDeletesNothing(t *testing.T) {
	const refusal, privileged = `echo 'docker: Error response from daemon: unable to apply caps: operation not permitted.' >&2; exit 125`, `"run --name="*`
	for name, tc := range map[string]struct {
		reason  string
		says    map[string]string
		change  func(t *testing.T, o *Options)
		want    string
		removes bool // Its own claim.
	}{
		"NoDocker": {
			reason: "it says what to install, and what needs no Docker",
			change: func(t *testing.T, _ *Options) { t.Setenv("PATH", t.TempDir()) },
			want:   "docker is not in PATH: install Docker, or run what needs no containers at the level kwok",
		},
		"NoAnswer": {
			reason: "the engine's own words come along",
			says:   map[string]string{`"version "*`: `echo "Cannot connect to the Docker daemon" >&2; exit 1`},
			want:   "does not answer (Cannot connect to the Docker daemon): start it, or point DOCKER_HOST at one",
		},
		"NameOfAnother": {
			reason: "a cluster that somebody else made",
			says:   map[string]string{`"ps "*io.x-k8s.kind.cluster=test*`: "echo 0123abcd"},
			want:   `a cluster "test" that this harness did not make is there already: choose another name, or delete it by: kind delete cluster --name test`,
		},
		"NameKept": {
			reason: "a cluster that an earlier run has kept",
			says:   map[string]string{`"ps "*harness.cluster=test*`: "echo 0123abcd /tmp/harness-cluster-test-1"},
			want:   `a cluster "test" is there already, kept or in use: choose another name, or delete it by: go run github.com/example-inc/memcached-operator/harness/cmd/cluster delete test`,
		},
		"NameClaimedMeanwhile": {
			reason: "two runs that start at once",
			says:   map[string]string{privileged: `echo 'docker: Error response from daemon: Conflict. The container name "/test-claim" is already in use by container "0123abcd".' >&2; exit 125`},
			want:   `a cluster "test" is there already, kept or in use`,
		},
		"NoImage": {
			reason: "neither in the engine nor anywhere else",
			says:   map[string]string{`"image inspect "*`: "exit 1", `"pull "*`: `echo "manifest unknown" >&2; exit 1`},
			want:   "the node image some/node:v1.37.2 is not in the engine and cannot be pulled (manifest unknown): name another, or make one",
		},
		"WrongArchitecture": {
			reason: "it would fail with exec format error",
			says:   map[string]string{`"image inspect "*`: "echo arm64"},
			want:   "the node image some/node:v1.37.2 is for arm64 and the engine for amd64: name one for amd64",
		},
		"NotANode": {
			reason: "any other image",
			says:   map[string]string{`"run "*`: `echo "cat: /kind/version: No such file or directory" >&2; exit 1`},
			want:   "some/node:v1.37.2 is not a kind node image, it has no /kind/version (cat: /kind/version: No such file or directory): name one that is",
		},
		"AnotherVersion": {
			reason: "its tag promises what it does not hold",
			says:   map[string]string{`"run "*`: "echo v1.36.1", `"ps "*harness.run-dir=*`: "echo claim1"},
			want:   "the node image some/node:v1.37.2 holds Kubernetes v1.36.1 and not v1.37.2: name one that matches", removes: true,
		},
		"NoPrivileges": {
			reason: "the same container runs without them",
			says:   map[string]string{privileged: refusal, `"ps "*harness.run-dir=*`: "echo claim1"},
			want:   "the Docker engine refuses privileged containers, which kind's nodes are (docker: Error response from daemon: unable to apply caps: operation not permitted.): use", removes: true,
		},
		"NothingRuns": {
			reason: "it is not about the privileges when nothing can be run",
			says:   map[string]string{`"run "*`: `echo "no space left on device" >&2; exit 125`},
			want:   "the Docker engine cannot run the node image some/node:v1.37.2 (no space left on device): see to that first",
		},
		"FewInotifyInstances": {
			reason: "systemd and kubelets would fail with too many open files",
			change: func(t *testing.T, o *Options) { o.limits = limits(t, "10", "524288") },
			want:   "sysctl -w fs.inotify.max_user_instances=512",
		},
		"FewInotifyWatches": {
			reason: "likewise",
			change: func(t *testing.T, o *Options) { o.limits = limits(t, "8192", "10") },
			want:   "fs.inotify.max_user_watches is 10, of which 0 are in use, and 1 nodes need ",
		},
		"BadName":     {reason: "kind would refuse it later", change: func(_ *testing.T, o *Options) { o.Name = "Test_1" }, want: `"Test_1" cannot be a cluster's name`},
		"LongName":    {reason: "it becomes part of host names", change: func(_ *testing.T, o *Options) { o.Name = strings.Repeat("n", 51) }, want: "at most 50 characters"},
		"NoNodeImage": {reason: "this package makes none", change: func(_ *testing.T, o *Options) { o.NodeImage = "" }, want: "no node image is named"},
		"NoConfig":    {reason: "a typing error", change: func(_ *testing.T, o *Options) { o.KindConfig = "testdata/nowhere.yaml" }, want: "testdata/nowhere.yaml"},
		"NoArchive":   {reason: "likewise", change: func(_ *testing.T, o *Options) { o.ImageArchives = []string{"testdata/nowhere.tar"} }, want: "testdata/nowhere.tar"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			t.Setenv("DOCKER_HOST", "")
			fake := fakeEngine(t, tc.says)
			o := Options{Level: Kind, Name: "test", NodeImage: "some/node:v1.37.2", Out: t.Output(), limits: limits(t, "8192", "524288")}
			if tc.change != nil {
				tc.change(t, &o)
			}
			_, err := Start(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: Start() = %v, want one line with %q", tc.reason, err, tc.want)
			}
			removed := slices.DeleteFunc(fake.calls(t), func(call string) bool { return !strings.HasPrefix(call, "rm ") })
			if want := []string{"rm --force --volumes claim1"}; tc.removes && !slices.Equal(removed, want) || !tc.removes && len(removed) > 0 {
				t.Errorf("%s: it called %q", tc.reason, removed)
			}
			expectEmpty(t, os.TempDir())
		})
	}
}

// limits makes a directory as the kernel's.
func limits(t *testing.T, instances, watches string) string {
	t.Helper()
	dir := t.TempDir()
	for name, limit := range map[string]string{"max_user_instances": instances, "max_user_watches": watches} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(limit+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// kind#2586: a second cluster takes what the first has left.
func TestInotifyInstancesInUseCount(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	for link, target := range map[string]string{"1/fd/3": "anon_inode:inotify", "1/fd/4": "anon_inode:[eventpoll]", "22/fd/9": "anon_inode:inotify"} {
		path := filepath.Join(proc, link)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(target, path)); err != nil {
			t.Fatal(err)
		}
	}
	want := 2
	if os.Getuid() != 0 {
		want = 0 // The nodes are root's.
	}
	if got := instancesInUse(proc); got != want {
		t.Errorf("instancesInUse() = %d, want %d", got, want)
	}
}

// A node comes after the start has failed, as kind does not await those that it starts beside the one that failed.
const latecomer = `[ -e $here/removed ] || [ $(($(date +%s) - $(stat -c %Y $here/created))) -lt 1 ] || echo node1`

func TestFailedKindStartRemovesWhatItMade(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	fake := fakeEngine(t, map[string]string{
		`"network "*`:                          `touch $here/created; echo "driver failed" >&2; exit 1`,
		`"ps "*io.x-k8s.kind.cluster=test*`:    `[ -e $here/created ] || exit 0; ` + latecomer,
		`"ps "*harness.run-dir=*`:              "echo claim1",
		`"rm --force --volumes node1"`:         "touch $here/removed",
		`"exec node1 journalctl "*`:            `echo "kubelet says why"`,
		`"logs "*`:                             `echo "console"`,
		`"image inspect "*`:                    "echo amd64",
		`"inspect --type=image "*|"inspect "*`: "exit 0",
	})
	_, err := Start(t.Context(), Options{Level: Kind, Name: "test", NodeImage: "some/node:v1.37.2", Out: t.Output(), limits: limits(t, "8192", "524288")})
	failure, ok := errors.AsType[*StartError](err)
	if !ok || !strings.Contains(err.Error(), "driver failed") {
		t.Fatalf("Start() = %v, want a *StartError with the engine's words", err)
	}
	t.Log(failure)
	calls := fake.calls(t)
	node, claim := slices.Index(calls, "rm --force --volumes node1"), slices.Index(calls, "rm --force --volumes claim1")
	if node < 0 || claim < node {
		t.Errorf("want the late node removed and then the claim; the calls were\n%s", strings.Join(calls, "\n"))
	}
	expectEmpty(t, os.TempDir())
}

func TestCancelledKindStartIsGivenUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	fake := fakeEngine(t, map[string]string{
		`"inspect --type=image "*`:          `touch $here/creating; while ! [ -e $here/removed ]; do sleep 0.05; done; exit 1`,
		`"pull "*`:                          "exit 0",
		`"network "*`:                       "exit 1",
		`"ps "*io.x-k8s.kind.cluster=test*`: `[ -e $here/creating ] && ! [ -e $here/removed ] && echo node1; true`,
		`"rm --force --volumes node1"`:      "touch $here/removed",
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		defer cancel(context.Canceled)
		for {
			if _, err := os.Stat(filepath.Join(fake.dir, "creating")); err == nil || t.Context().Err() != nil {
				return
			}
			<-time.After(pollEvery)
		}
	}()
	_, err := Start(ctx, Options{Level: Kind, Name: "test", NodeImage: "some/node:v1.37.2", Out: t.Output(), limits: limits(t, "8192", "524288")})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "what to do") {
		t.Errorf("Start() = %v, want it to be cancelled, without advice", err)
	}
	expectEmpty(t, os.TempDir())
}

// Whatever ends the process, the watchdog removes the nodes that had been started, and those that come later.
func TestKilledKindStartLeavesNothing(t *testing.T) {
	fake := fakeEngine(t, map[string]string{
		`"inspect --type=image "*`:           `touch $here/creating; while ! [ -e $here/first ]; do sleep 0.05; done; exit 1`,
		`"ps "*io.x-k8s.kind.cluster=child*`: `[ -e $here/creating ] || exit 0; [ -e $here/first ] || echo node1; [ -e $here/first ] && ! [ -e $here/second ] && echo node2; true`,
		`"ps "*harness.run-dir=*`:            `[ -e $here/claim ] || echo claim1`,
		`"rm --force --volumes node1"`:       "touch $here/first",
		`"rm --force --volumes node2"`:       "touch $here/second",
		`"rm --force --volumes claim1"`:      "touch $here/claim",
	})
	c := startChild(t, "signal", Kind)
	eventually(t, "kind to create nodes", func() bool { _, err := os.Stat(filepath.Join(fake.dir, "creating")); return err == nil })
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // Killed.
	c.expectNothingLeft(t)
	calls := strings.Join(fake.calls(t), "\n")
	for _, container := range []string{"node1", "node2", "claim1"} {
		if !strings.Contains(calls, "rm --force --volumes "+container) {
			t.Errorf("%s is left; the calls were\n%s", container, calls)
		}
	}
}

func TestKeepIsForKindAlone(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Level: Kwok, Keep: KeepAlways}, {Level: Envtest, Keep: KeepOnFailure}, {Level: Kind, Keep: "perhaps"}} {
		if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "eep") {
			t.Errorf("Start() at level %s with Keep %q = %v, want it refused", o.Level, o.Keep, err)
		}
	}
}

func TestDelete(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	runDir := filepath.Join(os.TempDir(), dirPrefix+"test-1")
	if err := os.Mkdir(runDir, 0o700); err != nil {
		t.Fatal(err)
	}
	fake := fakeEngine(t, map[string]string{
		`"ps "*io.x-k8s.kind.cluster=*`:   "echo node1; echo node2",
		`"ps "*harness.cluster=mine*`:     "echo claim1 " + runDir,
		`"ps "*harness.run-dir=` + runDir: "echo claim1",
	})
	if err := Delete(t.Context(), "theirs"); err == nil || !strings.Contains(err.Error(), "has made no cluster of that name") {
		t.Errorf("Delete() of a cluster that we did not make = %v", err)
	}
	if calls := strings.Join(fake.calls(t), "\n"); strings.Contains(calls, "rm ") {
		t.Errorf("it removed something:\n%s", calls)
	}
	if err := Delete(t.Context(), "mine"); err != nil {
		t.Error(err)
	}
	calls := strings.Join(fake.calls(t), "\n")
	if !strings.Contains(calls, "rm --force --volumes node1 node2\n") || !strings.HasSuffix(calls, "rm --force --volumes claim1") {
		t.Errorf("want the nodes removed and then the claim; the calls were\n%s", calls)
	}
	expectEmpty(t, os.TempDir())
}

func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keep   Keep
		failed bool
		want   string
	}{
		"Never":           {keep: KeepNever, failed: true, want: "end"},
		"Always":          {keep: KeepAlways, want: "leave"},
		"OnFailureFailed": {keep: KeepOnFailure, failed: true, want: "leave"},
		"OnFailurePassed": {keep: KeepOnFailure, want: "end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls []string
			h := &handle{
				level: Kind, keep: tc.keep,
				end:   func(context.Context) error { calls = append(calls, "end"); return nil },
				leave: func() error { calls = append(calls, "leave"); return nil },
			}
			if tc.failed {
				h.Failed()
			}
			for range 2 { // The second call finds nothing to do.
				if err := h.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(calls, []string{tc.want}) {
				t.Errorf("Stop() called %v, want %s once", calls, tc.want)
			}
		})
	}
}
