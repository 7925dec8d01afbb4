package binaries

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieWithParent ends a build whose parent was killed without a chance to end it itself.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// runBound runs a command. The death signal goes by the thread that started it, so the thread must live as long.
func runBound(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer killGroup(cmd)
	return cmd.Run()
}
