//go:build !linux

package binaries

import "os/exec"

// runBound runs a command and leaves nothing of it behind.
func runBound(cmd *exec.Cmd) error {
	defer killGroup(cmd)
	return cmd.Run()
}
