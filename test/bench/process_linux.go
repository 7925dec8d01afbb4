package main

import "syscall"

// processAttributes keep the terminal's Ctrl-C from a manager, which is stopped in its turn, and end it with this process.
// Linux ties that to the thread that starts it, which is why main locks its own.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
