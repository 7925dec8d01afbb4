package debian

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// contain makes mmdebstrap end together with all its children, and with this process. As root, it gets its own view of
// what is mounted, so that nothing it mounts outlives it.
func contain(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}

// runBound runs a command. The death signal goes by the thread that started it, so the thread must live as long.
func runBound(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}()
	return cmd.Run()
}
