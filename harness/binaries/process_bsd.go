//go:build unix && !linux

package binaries

import "syscall"

// dieWithParent does nothing: these systems have no such signal.
func dieWithParent(*syscall.SysProcAttr) {}
