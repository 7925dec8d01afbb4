package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// pollEvery is the pace of everything that has to be asked for again and again on the local machine.
	pollEvery = 20 * time.Millisecond
	// killWait is how long a killed process may take to disappear.
	killWait = 5 * time.Second
)

// processes returns the ids of the living processes that registered as one of components, or of all when none is named.
func (r *runDir) processes(components ...string) ([]int, error) {
	entries, err := os.ReadDir(r.join("pids"))
	if err != nil {
		return nil, fmt.Errorf("listing the cluster's processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !r.alive(pid) {
			continue
		}
		name, err := os.ReadFile(r.join("pids", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading a process registration: %w", err)
		}
		if len(components) == 0 || slices.Contains(components, strings.TrimSpace(string(name))) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// alive tells whether pid is still one of ours. On Linux its command line must name the run directory, which a stranger's
// with a recycled id does not. A command line is empty while its process becomes another program, and for good once the
// process is a zombie.
func (r *runDir) alive(pid int) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	cmdline, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	switch {
	case err == nil && len(cmdline) == 0:
		return !ended(filepath.Join(proc, "stat"))
	case err == nil:
		return bytes.Contains(cmdline, []byte(r.path))
	}
	if _, statErr := os.Stat("/proc/self/cmdline"); statErr == nil {
		return false
	}
	return syscall.Kill(pid, 0) == nil
}

// ended reads the state of a process, which follows its name in parentheses: Z is a zombie, X is dead.
func ended(stat string) bool {
	data, err := os.ReadFile(stat) //nolint:gosec // Below /proc.
	if err != nil {
		return true
	}
	state := bytes.TrimLeft(data[bytes.LastIndexByte(data, ')')+1:], " ")
	return len(state) == 0 || state[0] == 'Z' || state[0] == 'X'
}

// stop ends the processes of components: asked first, killed after grace or as soon as ctx is done. Only what survives
// is an error, because a slow end leaves nothing behind (controller-runtime#1571).
func (r *runDir) stop(ctx context.Context, grace time.Duration, components ...string) error {
	pids, err := r.processes(components...)
	if err != nil {
		return err
	}
	graceful, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if graceful.Err() == nil {
		signalAll(pids, syscall.SIGTERM)
		pids = r.awaitEnd(graceful, pids)
	}
	if len(pids) == 0 {
		return nil
	}

	signalAll(pids, syscall.SIGKILL)
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancelLast()
	var errs []error
	for _, pid := range r.awaitEnd(last, pids) {
		errs = append(errs, fmt.Errorf("process %d (one of %v) is still there %s after SIGKILL", pid, components, killWait))
	}
	return errors.Join(errs...)
}

// awaitEnd waits until all pids are gone or ctx is done, and returns those that are left.
func (r *runDir) awaitEnd(ctx context.Context, pids []int) []int {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		var left []int
		for _, pid := range pids {
			if r.alive(pid) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return left
		case <-tick.C:
		}
	}
}

// signalAll signals each process with its group, or alone when it leads none. A process that has gone meanwhile is fine.
func signalAll(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		if err := syscall.Kill(-pid, sig); err != nil {
			_ = syscall.Kill(pid, sig)
		}
	}
}
