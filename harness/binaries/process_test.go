//go:build unix

package binaries

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is another process that ensures the fixture's etcd.
type process struct {
	*exec.Cmd
	stderr *output
	stdout strings.Builder
}

func (fix *fixture) start(t *testing.T) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0]), stderr: newOutput()}
	p.Env = append(os.Environ(), "BINARIES_TEST_FIXTURE="+fix.JSON(t))
	p.Stdout, p.Stderr = &p.stdout, p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// gate makes a stand-in for the go command that stops before each build, says so, and goes on when the gate is opened.
func gate(t *testing.T) (tool, log, fifo string) {
	t.Helper()
	dir := t.TempDir()
	log, fifo = filepath.Join(dir, "log"), filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return script(t, `[ "$1" != build ] || { echo build >> `+log+`; echo at-the-gate >&2; read x < `+fifo+"; }\nexec go \"$@\""), log, fifo
}

func TestTwoProcessesBuildOnce(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	tool, log, fifo := gate(t)
	fix.GoTool = tool
	first := fix.start(t)
	first.stderr.waitFor(t, "programs to link")
	second := fix.start(t)
	second.stderr.waitFor(t, "waiting for process "+strconv.Itoa(first.Process.Pid)+", which is making etcd")

	open, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(open, "go\n"); err != nil {
		t.Fatal(err)
	}
	_ = open.Close()
	for _, p := range []*process{first, second} {
		if err := p.Wait(); err != nil {
			t.Errorf("%v:\n%s", err, p.stderr)
		}
		wantBuilt(t, Paths{Etcd: strings.TrimSpace(p.stdout.String())}, Etcd)
	}
	if builds, _ := os.ReadFile(log); string(builds) != "build\n" {
		t.Errorf("want one build, have:\n%s", builds)
	}
	if strings.Contains(second.stderr.String(), "from source") {
		t.Errorf("the second process announced a build that it did not do:\n%s", second.stderr)
	}
}

// stuck makes a stand-in for the go command that has a child and never ends; it writes both process numbers.
func stuck(t *testing.T) (tool, pids string) {
	t.Helper()
	pids = filepath.Join(t.TempDir(), "pids")
	return script(t, `[ "$1" = build ] || exec go "$@"
sleep 1000 & echo $$ $! > `+pids+".new && mv "+pids+".new "+pids+"\nwait"), pids
}

func TestInterruptEndsTheWholeBuild(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"CtrlC": os.Interrupt, "Terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fix := newFixture(t)
			tool, pids := stuck(t)
			fix.GoTool = tool
			p := fix.start(t)
			running := readPids(t, pids)
			if err := p.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err == nil || p.ProcessState.ExitCode() != 1 {
				t.Errorf("want an ordinary failure, got %v:\n%s", err, p.stderr)
			}
			if !strings.Contains(p.stderr.String(), "making etcd was stopped: "+sig.String()) {
				t.Errorf("it does not say what happened:\n%s", p.stderr)
			}
			wantGone(t, running)
			if left := leftovers(t, fix.Cache); len(left) != 0 {
				t.Errorf("left behind %v", left)
			}
		})
	}
}

func TestCancelEndsTheWholeBuild(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	tool, pids := stuck(t)
	fix.GoTool = tool
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("the suite is over")
	ended := make(chan error, 1)
	go func() {
		_, err := fix.finder(newOutput()).ensure(ctx, Etcd)
		ended <- err
	}()
	running := readPids(t, pids)
	cancel(because)
	if err := <-ended; !errors.Is(err, because) {
		t.Errorf("want the cause of the cancellation, got %v", err)
	}
	wantGone(t, running)
	if left := leftovers(t, fix.Cache); len(left) != 0 {
		t.Errorf("left behind %v", left)
	}
}

// A waiting process is stopped like a working one.
func TestCancelEndsTheWait(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	tool, pids := stuck(t)
	fix.GoTool = tool
	first := fix.start(t)
	readPids(t, pids)
	second := fix.start(t)
	second.stderr.waitFor(t, "waiting for process")
	for _, p := range []*process{second, first} {
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err == nil {
			t.Error("want a failure")
		}
	}
	if !strings.Contains(second.stderr.String(), "making etcd was stopped: interrupt") {
		t.Errorf("it does not say what happened:\n%s", second.stderr)
	}
}

// A process that was killed could not clean up; the next one does, and takes its lock over.
func TestKilledProcessIsCleanedUpAfter(t *testing.T) {
	t.Parallel()
	fix := newFixture(t)
	tool, pids := stuck(t)
	fix.GoTool = tool
	p := fix.start(t)
	running := readPids(t, pids)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	if left := leftovers(t, fix.Cache); len(left) == 0 {
		t.Fatal("the killed process left nothing: this test shows nothing")
	}
	_ = syscall.Kill(-running[0], syscall.SIGKILL)

	fix.GoTool = "go"
	paths, err := fix.finder(newOutput()).ensure(t.Context(), Etcd)
	if err != nil {
		t.Fatal(err)
	}
	wantBuilt(t, paths, Etcd)
	if left := leftovers(t, fix.Cache); len(left) != 1 {
		t.Errorf("left behind %v", left)
	}
}

// readPids waits for a stuck go command to write its process numbers.
func readPids(t *testing.T, path string) (pids []int) {
	t.Helper()
	wait(t, "the build to start", func() bool { return exists(path) })
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// wantGone checks that no process is left, apart from those that only wait for init to collect them.
func wantGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		wait(t, "process "+strconv.Itoa(pid)+" to end", func() bool {
			state, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
			return err != nil || strings.HasPrefix(string(state), "Z")
		})
	}
}

func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
