package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAProcessThatBecomesAnotherProgramIsAlive has a process replace its program without end: in between its command line is
// empty, as a zombie's is, and a component that is looked at just then must not be taken for dead.
func TestAProcessThatBecomesAnotherProgramIsAlive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700); err != nil { //nolint:gosec // It is to be executed.
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), script) //nolint:gosec // Written above.
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &runDir{path: dir}
	for range 20_000 {
		if !r.alive(cmd.Process.Pid) {
			t.Fatal("a living process was taken for dead")
		}
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// WNOWAIT leaves the zombie there to be looked at.
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if r.alive(cmd.Process.Pid) {
		t.Error("a zombie was taken for alive")
	}
	_ = cmd.Wait() // Reaps it; that it was killed is no news.
}
