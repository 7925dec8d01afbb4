package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

// signalBase is what a shell adds to a signal's number for the exit code of what the signal ended.
const signalBase = 128

// run runs the command with the cluster in its environment. Signals go on to the command, which ends in its own way.
func run(ctx context.Context, c cluster.Cluster, kubeContext string, args []string) error {
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec // Running what the user names is the purpose.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if c.Level() == cluster.Existing {
		// A cluster that was joined has been named by the environment instead.
		kubeContext = cmp.Or(kubeContext, os.Getenv(cluster.EnvContext))
	}
	cmd.Env = append(os.Environ(),
		cluster.EnvKubeconfig+"="+c.Kubeconfig(),
		cluster.EnvContext+"="+kubeContext,
		cluster.EnvLevel+"="+string(c.Level()),
	)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		return errors.New("interrupted before the command was started")
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the command: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			// A process that has just ended cannot be signalled, which is what the signal was for.
			if sig != os.Interrupt || !terminalInterrupts() {
				_ = cmd.Process.Signal(sig)
			}
		case err := <-done:
			return ended(err)
		}
	}
}

// ended turns the end of a command into this command's exit code.
func ended(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitCode(signalBase + int(status.Signal()))
	}
	return exitCode(exit.ExitCode())
}

// terminalInterrupts tells whether Ctrl-C reaches the command without us, because the terminal sends it to the whole
// foreground process group. Forwarded again it would be a second interrupt, at which test runners drop their clean-up.
func terminalInterrupts() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = tty.Close() }()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}
