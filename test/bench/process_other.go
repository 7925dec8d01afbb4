//go:build !linux

package main

import "syscall"

// processAttributes has nothing to set: the benchmark reads /proc, so that it ends before it starts a process elsewhere.
func processAttributes() *syscall.SysProcAttr { return nil }
