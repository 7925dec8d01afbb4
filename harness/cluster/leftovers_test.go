package cluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

const goneWithin = 20 * time.Second

// controller-runtime#911, cluster-api#4278: Ctrl-C and worse leave etcd and kube-apiserver running.
func TestControllerRuntime911NothingIsLeftBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		mode  string
		level Level
		kill  syscall.Signal // Sent once the cluster is up.
		early bool           // Sent while the cluster starts.
	}{
		"Envtest/Interrupt":      {mode: "signal", level: Envtest, kill: syscall.SIGINT},
		"Envtest/Terminate":      {mode: "signal", level: Envtest, kill: syscall.SIGTERM},
		"Envtest/Kill":           {mode: "signal", level: Envtest, kill: syscall.SIGKILL},
		"Envtest/KillEarly":      {mode: "signal", level: Envtest, kill: syscall.SIGKILL, early: true},
		"Envtest/Panic":          {mode: "panic", level: Envtest},
		"Envtest/Exit":           {mode: "exit", level: Envtest},
		"Envtest/GoTestTimeout":  {mode: "timeout", level: Envtest},
		"Envtest/CancelledEarly": {mode: "cancelled", level: Envtest, kill: syscall.SIGTERM, early: true},
		"Kwok/Interrupt":         {mode: "signal", level: Kwok, kill: syscall.SIGINT},
		"Kwok/Kill":              {mode: "signal", level: Kwok, kill: syscall.SIGKILL},
		"Kwok/KillEarly":         {mode: "signal", level: Kwok, kill: syscall.SIGKILL, early: true},
		"Kwok/CancelledEarly":    {mode: "cancelled", level: Kwok, kill: syscall.SIGTERM, early: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChild(t, tc.mode, tc.level)
			if tc.early {
				c.awaitProcess(t, string(binaries.KubeAPIServer))
			} else {
				c.awaitLine(t, "up ")
			}
			if tc.kill != 0 {
				if err := c.cmd.Process.Signal(tc.kill); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.cmd.Wait(); err == nil {
				t.Error("the child ended well, so that the test shows nothing")
			}
			c.expectNothingLeft(t)
		})
	}
}

// A failed start and a clean stop leave nothing either, while the process that asked for them lives on.
func TestNothingIsLeftBehindWhileTheProcessLives(t *testing.T) {
	for name, tc := range map[string]struct {
		mode, line string
		level      Level
	}{
		"Envtest/FailedStart": {mode: "flag", line: "failed ", level: Envtest},
		"Envtest/Stop":        {mode: "stop", line: "stopped", level: Envtest},
		"Kwok/FailedStart":    {mode: "flag", line: "failed ", level: Kwok},
		"Kwok/Stop":           {mode: "stop", line: "stopped", level: Kwok},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChild(t, tc.mode, tc.level)
			c.awaitLine(t, tc.line)
			c.expectNothingLeft(t)
		})
	}
}

// child is a test process with a temporary directory and a home of its own.
type child struct {
	cmd       *exec.Cmd
	lines     *bufio.Scanner
	tmp, home string
}

const sentinel = "apiVersion: v1\nkind: Config\ncurrent-context: precious\n"

func startChild(t *testing.T, mode string, level Level) *child {
	t.Helper()
	c := &child{tmp: t.TempDir(), home: t.TempDir()}
	kube := filepath.Join(c.home, ".kube")
	if err := os.Mkdir(kube, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(kube, "config"), []byte(sentinel), 0o600); err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(os.Args[0], "-test.run=^TestEnvtestServes$", "-test.timeout=3s") //nolint:gosec // This test binary.
	c.cmd.Env = append(os.Environ(), childMode+"="+mode, "CHILD_LEVEL="+string(level),
		"TMPDIR="+c.tmp, "HOME="+c.home, "KUBECONFIG="+filepath.Join(kube, "config"), "XDG_CACHE_HOME=", "KWOK_WORKDIR=")
	c.cmd.Env = append(c.cmd.Env, assets(t)...)
	c.cmd.Stderr = t.Output()
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		// The watchdog needs the run directory to know what to end, so it comes before the removal of what is around it.
		c.awaitNoProcess(t)
	})
	return c
}

// assets tells a child, which has another home, where the binaries are.
func assets(t *testing.T) (env []string) {
	t.Helper()
	paths, err := binaries.Ensure(t.Context(), binaries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for tool, path := range paths {
		env = append(env, "TEST_ASSET_"+strings.ReplaceAll(strings.ToUpper(string(tool)), "-", "_")+"="+path)
	}
	return env
}

func (c *child) awaitLine(t *testing.T, prefix string) {
	t.Helper()
	for c.lines.Scan() {
		t.Log(c.lines.Text())
		if strings.HasPrefix(c.lines.Text(), prefix) {
			return
		}
	}
	t.Fatalf("the child ended without the line %q", prefix)
}

func (c *child) awaitProcess(t *testing.T, name string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), pollEvery, time.Minute, true, func(context.Context) (bool, error) {
		return strings.Contains(fmt.Sprint(c.processes(t)), name), nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", name, err)
	}
}

func (c *child) awaitNoProcess(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.WithoutCancel(t.Context()), pollEvery, goneWithin, true,
		func(context.Context) (bool, error) { return len(c.processes(t)) == 0, nil })
	if err != nil {
		t.Errorf("still running after %s: %v", goneWithin, c.processes(t))
	}
}

// processes are the command lines that name the child's temporary directory.
func (c *child) processes(t *testing.T) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(c.tmp)) {
			lines = append(lines, filepath.Dir(file)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return lines
}

func (c *child) expectNothingLeft(t *testing.T) {
	t.Helper()
	var left []string
	err := wait.PollUntilContextTimeout(t.Context(), pollEvery, goneWithin, true, func(context.Context) (bool, error) {
		left = append(c.processes(t), filesBelow(t, c.tmp)...)
		return len(left) == 0, nil
	})
	if err != nil {
		t.Errorf("left after %s:\n%s", goneWithin, strings.Join(left, "\n"))
	}

	// controller-runtime makes the directory when it is imported, for the locks of its ports.
	const locks = ".cache/kubebuilder-envtest"
	for _, file := range filesBelow(t, c.home) {
		if file != ".cache" && file != ".kube" && file != ".kube/config" && !strings.HasPrefix(file, locks) {
			t.Errorf("%s appeared in the user's home", file)
		}
	}
	config, err := os.ReadFile(filepath.Join(c.home, ".kube", "config"))
	if err != nil || string(config) != sentinel {
		t.Errorf("the user's kubeconfig became %q, %v", config, err)
	}
}

func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." && err == nil {
			names = append(names, name)
		}
		return nil // What vanishes while we look is fine.
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
