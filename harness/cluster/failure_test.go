package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFailedStartSaysWhatFailedAndWhatToDo(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		options   func(t *testing.T) Options
		component string
		log       string
		advice    string
	}{
		"BadFlag": {
			reason: "the log names the flag",
			options: func(*testing.T) Options {
				return Options{Level: Envtest, APIServerFlags: map[string]string{"no-such-flag": "1"}}
			},
			component: "kube-apiserver", log: "unknown flag: --no-such-flag", advice: "correct the API server flags",
		},
		"BadFlagSimulated": {
			reason: "kwokctl hides its components, the error does not",
			options: func(*testing.T) Options {
				return Options{Level: Kwok, APIServerFlags: map[string]string{"no-such-flag": "1"}}
			},
			component: "kube-apiserver", log: "unknown flag: --no-such-flag", advice: "correct the API server flags",
		},
		"BusyPort": {
			reason:    "every port offered is taken",
			options:   func(t *testing.T) Options { return Options{Level: Envtest, ports: busyPort(t)} },
			component: "etcd", log: "address already in use", advice: "another process holds the port",
		},
		"FullDisk": {
			reason: "etcd says so in its log only",
			options: func(t *testing.T) Options {
				fakeBinary(t, "TEST_ASSET_ETCD", `echo "panic: write member/wal: no space left on device" >&2; exit 2`)
				return Options{Level: Envtest}
			},
			component: "etcd", log: "no space left on device", advice: "free space in",
		},
		"WrongPlatform": {
			reason: "the binary cannot be run at all",
			options: func(t *testing.T) Options {
				fakeBinary(t, "TEST_ASSET_KUBE_APISERVER", `echo "exec format error" >&2; exit 126`)
				return Options{Level: Envtest}
			},
			component: "kube-apiserver", log: "exec format error", advice: "another platform",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			o := tc.options(t)
			o.Out = t.Output()
			_, err := Start(t.Context(), o)
			var failure *StartError
			if !errors.As(err, &failure) {
				t.Fatalf("%s: Start() = %v, want a *StartError", tc.reason, err)
			}
			t.Log(err)
			if failure.Component != tc.component {
				t.Errorf("%s: the component is %q, want %q", tc.reason, failure.Component, tc.component)
			}
			if log := strings.Join(failure.Log, "\n"); !strings.Contains(log, tc.log) || len(failure.Log) > tailLines {
				t.Errorf("%s: the log is %q, want at most %d lines with %q", tc.reason, log, tailLines, tc.log)
			}
			if !strings.Contains(err.Error(), "what to do: ") || !strings.Contains(failure.Advice, tc.advice) {
				t.Errorf("%s: the advice is %q, want %q", tc.reason, failure.Advice, tc.advice)
			}
			expectEmpty(t, os.TempDir())
		})
	}
}

// kubebuilder#819, #1599, #2390: a missing binary was "fork/exec …/etcd" after five retries.
func TestKubebuilder819MissingBinaryIsNamedBeforeAnythingStarts(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TEST_ASSET_ETCD", filepath.Join(t.TempDir(), "nowhere"))
	_, err := Start(t.Context(), Options{Level: Envtest, Out: t.Output()})
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("Start() = %v, want an error with the path that is missing", err)
	}
	expectEmpty(t, os.TempDir())
}

func TestCancelledStartIsGivenUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, level := range []Level{Envtest, Kwok} {
		if _, err := Start(ctx, Options{Level: level, Out: t.Output()}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Start() = %v, want it to be cancelled", level, err)
		}
	}
	expectEmpty(t, os.TempDir())
}

func TestUnknownLevel(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Level: "imagined"})
	if err == nil || !strings.Contains(err.Error(), `unknown level "imagined": want envtest, kwok, kind or existing`) {
		t.Errorf("Start() = %v, want the level and the choices", err)
	}
}

// A port that is taken after it was found free costs another attempt, not the start.
func TestTakenPortIsTriedAgain(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	busy, free, calls := busyPort(t), &reservations{}, 0
	defer free.release()
	c, err := Start(t.Context(), Options{Level: Envtest, Out: t.Output(), ports: func() (int, error) {
		if calls++; calls == 1 {
			return busy()
		}
		return free.reserve()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	expectEmpty(t, os.TempDir())
}

func busyPort(t *testing.T) func() (int, error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return func() (int, error) { return listener.Addr().(*net.TCPAddr).Port, nil }
}

func fakeBinary(t *testing.T, variable, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // It is to be executed.
		t.Fatal(err)
	}
	t.Setenv(variable, path)
}

func expectEmpty(t *testing.T, dir string) {
	t.Helper()
	if left := filesBelow(t, dir); len(left) > 0 {
		t.Errorf("left in %s: %v", dir, left)
	}
}
