package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

// asCommand makes this test binary the command itself.
const asCommand = "CLUSTER_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(execute(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// command prepares a process of the command with a temporary directory of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...) //nolint:gosec // This test binary.
	cmd.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+t.TempDir(), cluster.EnvKubeconfig+"=", cluster.EnvLevel+"=")
	cmd.Stderr = t.Output()
	return cmd
}

// kgateway#14502, korifi#1242: several processes, one control plane.
func TestKgateway14502RunSharesOneCluster(t *testing.T) {
	t.Parallel()
	script := `
		[ "$HARNESS_LEVEL" = envtest ] && [ -s "$HARNESS_KUBECONFIG" ] || exit 90
		cp "$HARNESS_KUBECONFIG" "$0"
		exit 42`
	copied := filepath.Join(t.TempDir(), "kubeconfig")
	cmd := command(t, "run", "--level", "envtest", "--", "sh", "-c", script, copied)
	if code := exitOf(t, cmd.Run()); code != 42 {
		t.Errorf("the exit code is %d, want the command's own, 42", code)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", copied)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the cluster is still there after the command")
	}
	expectNothingLeft(t, cmd)
}

func TestRunForwardsSignals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, trap string
		signal       syscall.Signal
		want         int
	}{
		"Heeded":   {reason: "it ends in its own way", trap: "exit 9", signal: syscall.SIGTERM, want: 9},
		"Default":  {reason: "a signal ends it", trap: "-", signal: syscall.SIGTERM, want: 128 + int(syscall.SIGTERM)},
		"Finished": {reason: "it may take its time", trap: "sleep 1; exit 0", signal: syscall.SIGHUP, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := `trap "` + tc.trap + `" TERM HUP; echo running; while :; do sleep 0.1; done`
			cmd := command(t, "run", "--level=envtest", "--", "sh", "-c", script)
			awaitLine(t, cmd, "running")
			if err := cmd.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			if code := exitOf(t, cmd.Wait()); code != tc.want {
				t.Errorf("%s: the exit code is %d, want %d", tc.reason, code, tc.want)
			}
			expectNothingLeft(t, cmd)
		})
	}
}

func TestRunTellsItsTimesAndKeepsTheLogsOfAFailure(t *testing.T) {
	t.Parallel()
	for code, want := range map[int][]string{0: {"times of the run:", " command\n", " total\n"}, 5: {"envtest: the logs are in ", " logs\n"}} {
		logs := filepath.Join(t.TempDir(), "logs")
		cmd := command(t, "run", "--level=envtest", "--logs="+logs, "--", "sh", "-c", fmt.Sprintf("exit %d", code))
		var said strings.Builder
		cmd.Stderr = io.MultiWriter(t.Output(), &said)
		if got := exitOf(t, cmd.Run()); got != code {
			t.Errorf("the exit code is %d, want the command's own, %d", got, code)
		}
		for _, line := range want {
			if !strings.Contains(said.String(), line) {
				t.Errorf("exit code %d: it said\n%swant %q", code, said.String(), line)
			}
		}
		if _, err := os.Stat(filepath.Join(logs, "kube-apiserver.log")); (err == nil) != (code != 0) {
			t.Errorf("exit code %d: looking for the log of kube-apiserver: %v", code, err)
		}
		expectNothingLeft(t, cmd)
	}
}

func TestUpStaysUntilInterrupted(t *testing.T) {
	t.Parallel()
	cmd := command(t, "up", "--level=kwok", "--nodes=1")
	line := awaitLine(t, cmd, "export KUBECONFIG=")
	cfg, err := clientcmd.BuildConfigFromFlags("", strings.TrimPrefix(line, "export KUBECONFIG="))
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := clients.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Errorf("the cluster has %d nodes, %v, want 1", len(nodes.Items), err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd.Wait()); code != 0 {
		t.Errorf("the exit code is %d, want 0", code)
	}
	expectNothingLeft(t, cmd)
}

func TestFailuresAreSaid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"NoCommand":     {args: []string{"run"}, want: "requires at least 1 arg"},
		"UnknownLevel":  {args: []string{"up", "--level=imagined"}, want: `unknown level "imagined"`},
		"NotFound":      {args: []string{"run", "--", "/no/such/command"}, want: "starting the command: "},
		"BadFlag":       {args: []string{"up", "--level=envtest", "--apiserver-flag=no-such=1"}, want: "unknown flag: --no-such"},
		"NothingToKeep": {args: []string{"up", "--level=kwok", "--keep=always"}, want: "only the level kind can keep one"},
		"NoName":        {args: []string{"delete"}, want: "accepts 1 arg"},
		"NoCRDs":        {args: []string{"up", "--crds=/no/such/directory"}, want: "/no/such/directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, tc.args...)
			var said strings.Builder
			cmd.Stderr = io.MultiWriter(t.Output(), &said)
			if code := exitOf(t, cmd.Run()); code != 1 {
				t.Errorf("the exit code is %d, want 1", code)
			}
			if !strings.Contains(said.String(), tc.want) {
				t.Errorf("it said %q, want %q", said.String(), tc.want)
			}
			expectNothingLeft(t, cmd)
		})
	}
}

func awaitLine(t *testing.T, cmd *exec.Cmd, prefix string) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		expectNothingLeft(t, cmd)
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), prefix) {
			return lines.Text()
		}
	}
	t.Fatalf("it ended without the line %q", prefix)
	return ""
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// expectNothingLeft looks for run directories; that no process outlives its directory is shown in package cluster.
func expectNothingLeft(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var tmp string
	for _, entry := range cmd.Env {
		if value, ok := strings.CutPrefix(entry, "TMPDIR="); ok {
			tmp = value
		}
	}
	var left []string
	err := wait.PollUntilContextTimeout(context.WithoutCancel(t.Context()), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		var err error
		left, err = fs.Glob(os.DirFS(tmp), "*")
		return len(left) == 0, err
	})
	if err != nil {
		t.Error(fmt.Errorf("left behind: %v: %w", left, err))
	}
}
