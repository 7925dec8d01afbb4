package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// controller-runtime#1571: "timeout waiting for process kube-apiserver to stop" while watches are open.
func TestControllerRuntime1571StopWithOpenWatches(t *testing.T) {
	for name, grace := range map[string]time.Duration{"InTime": 0, "GraceRunsOut": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Start(t.Context(), Options{Level: Envtest, StopGrace: grace, Out: t.Output()})
			if err != nil {
				t.Fatal(err)
			}
			clients, err := kubernetes.NewForConfig(c.Config())
			if err != nil {
				t.Fatal(err)
			}
			open, err := clients.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer open.Stop()

			for range 2 { // The second call finds nothing to do.
				if err := c.Stop(t.Context()); err != nil {
					t.Errorf("Stop() = %v, want success: nothing survived", err)
				}
			}
			if _, err := os.Stat(filepath.Dir(c.Kubeconfig())); !os.IsNotExist(err) {
				t.Errorf("the run directory is still there: %v", err)
			}
		})
	}
}

// Whoever talks to another ends before it.
func TestComponentsStopInOrder(t *testing.T) {
	t.Parallel()
	run, err := newRunDir("test")
	if err != nil {
		t.Fatal(err)
	}
	order := filepath.Join(t.TempDir(), "order")
	names := []string{"kube-apiserver", "etcd", "kube-controller-manager"}
	for _, name := range names {
		cmd := launch(t, run, name, `trap "echo `+name+` >>`+order+`; exit" TERM; echo ready; while :; do sleep 0.1; done`)
		defer func() { _ = cmd.Wait() }()
	}
	s := &site{run: run, reserved: &reservations{}}
	if err := s.takeDown(t.Context(), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(order)
	if want := "kube-controller-manager\nkube-apiserver\netcd\n"; err != nil || string(got) != want {
		t.Errorf("they stopped in the order %q, %v, want %q", got, err, want)
	}
}

func TestStopKillsWhatIgnoresTheRequest(t *testing.T) {
	t.Parallel()
	run := newTestRun(t)
	cmd := launch(t, run, "stubborn", `trap "" TERM; echo ready; while :; do sleep 0.1; done`)

	if err := run.stop(t.Context(), 100*time.Millisecond, "stubborn"); err != nil {
		t.Errorf("stop() = %v, want success: it was killed", err)
	}
	status, ok := exitStatus(t, cmd).Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended by %v, want SIGKILL", status)
	}
}

func TestStopGivesTimeToEndProperly(t *testing.T) {
	t.Parallel()
	run := newTestRun(t)
	cmd := launch(t, run, "polite", `trap "exit 5" TERM; echo ready; while :; do sleep 0.1; done`)
	other := launch(t, run, "other", `echo ready; while :; do sleep 0.1; done`)

	if err := run.stop(t.Context(), 30*time.Second, "polite"); err != nil {
		t.Errorf("stop() = %v", err)
	}
	if code := exitStatus(t, cmd).ExitCode(); code != 5 {
		t.Errorf("it ended with %d, want 5, its own way", code)
	}
	if pids, err := run.processes("other"); err != nil || len(pids) != 1 {
		t.Errorf("processes(other) = %v, %v, want the one that was not to be stopped", pids, err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run.stop(done, time.Hour, "other"); err != nil {
		t.Errorf("stop() = %v, want no grace when the context is done", err)
	}
	_ = exitStatus(t, other)
}

// A number in a registration may belong to somebody else by now.
func TestStopSparesStrangers(t *testing.T) {
	t.Parallel()
	run := newTestRun(t)
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
	register(t, run, stranger.Process.Pid, "component")

	if err := run.stop(t.Context(), time.Second, "component"); err != nil {
		t.Errorf("stop() = %v", err)
	}
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the stranger was stopped: %v", err)
	}
}

func TestLauncherRefusesOnceTheWatchdogTookOver(t *testing.T) {
	t.Parallel()
	run := newTestRun(t)
	launcher, err := run.launcher("component", "/bin/echo", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(run.join("pids"), run.join("closed")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(launcher, "started").Output(); err == nil || strings.Contains(string(out), "started") { //nolint:gosec // Our launcher.
		t.Errorf("the launcher started its component: %q, %v", out, err)
	}
}

func newTestRun(t *testing.T) *runDir {
	t.Helper()
	run, err := newRunDir("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.remove(); err != nil {
			t.Error(err)
		}
	})
	return run
}

// launch starts a shell script as a component would be started and waits for its first line.
func launch(t *testing.T, run *runDir, component, script string) *exec.Cmd {
	t.Helper()
	launcher, err := run.launcher(component, "/bin/sh", "")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(launcher, "-c", script, run.path) //nolint:gosec // The test's own script.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func register(t *testing.T, run *runDir, pid int, component string) {
	t.Helper()
	path := run.join("pids", strconv.Itoa(pid))
	if err := os.WriteFile(path, []byte(component), 0o600); err != nil {
		t.Fatal(err)
	}
}

// exitStatus waits for the end of a command; before that it is a zombie, which counts as gone.
func exitStatus(t *testing.T, cmd *exec.Cmd) *os.ProcessState {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	err := wait.PollUntilContextTimeout(t.Context(), pollEvery, 10*time.Second, true, func(context.Context) (bool, error) {
		select {
		case <-ended:
			return true, nil
		default:
			return false, nil
		}
	})
	if err != nil {
		t.Fatalf("waiting for %s to end: %v", cmd.Path, err)
	}
	return cmd.ProcessState
}
