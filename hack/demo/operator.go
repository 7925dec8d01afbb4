package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/example-inc/memcached-operator/test/operator"
)

const (
	operatorLimit = time.Minute
	// stopLimit is as long as the manager gives its own runnables.
	stopLimit = 35 * time.Second
)

func (w *world) manager() string { return filepath.Join(w.dir, "manager") }

func (w *world) build(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", w.manager(), "./cmd/manager") //nolint:gosec // Fixed arguments.
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building ./cmd/manager: %w\n%s", err, bytes.TrimSpace(out))
	}
	return "", nil
}

// startOperator runs the manager as the ServiceAccount of its Deployment, so with the rights that config/rbac gives it.
func (w *world) startOperator(ctx context.Context) (string, error) {
	kubeconfig, err := operator.Kubeconfig(ctx, w.cluster, w.deployment, w.dir)
	if err != nil {
		return "", err
	}
	w.operator, err = operator.Start(ctx, w.manager(), kubeconfig, w.deployment.Namespace, filepath.Join(w.dir, "operator.log"))
	if err != nil {
		return "", err
	}

	ctx = w.ctx(ctx)
	if err := await(ctx, operatorLimit, "the operator's /readyz", w.operator.Ready); err != nil {
		return "", err
	}
	return "as " + operator.User(w.deployment), await(ctx, operatorLimit, "the operator to be elected leader", func(ctx context.Context) (string, bool, error) {
		holder, err := w.leader(ctx)
		return fmt.Sprintf("the Lease's holder is %q", holder), holder != "", err
	})
}

// stopOperator asks the operator to end, and verifies that it does so well and gives its leadership back.
func (w *world) stopOperator(ctx context.Context) (string, error) {
	if w.operator == nil {
		return "it had not started", nil
	}
	w.operator.Signal(syscall.SIGTERM) // What has ended by itself is told by its exit code.
	select {
	case <-w.operator.Ended.Done():
	case <-time.After(stopLimit):
		w.operator.Signal(syscall.SIGKILL)
		return "", fmt.Errorf("it has not ended %s after SIGTERM and was killed", stopLimit)
	}
	if cause := context.Cause(w.operator.Ended); !errors.Is(cause, operator.ErrEndedWell) {
		return "", cause
	}
	holder, err := w.leader(ctx)
	if err == nil && holder != "" {
		err = fmt.Errorf("its Lease is still held by %s: a successor would have to wait for it to expire", holder)
	}
	return "exit code 0, leadership given back", err
}

func (w *world) leader(ctx context.Context) (string, error) {
	return operator.Leader(ctx, w.client, w.deployment.Namespace)
}

// noErrors looks for lines of level error: a refused right, a conflict that was not retried quietly, a panic.
func (w *world) noErrors(context.Context) (string, error) {
	log, err := os.ReadFile(w.operator.Log)
	if err != nil {
		return "", fmt.Errorf("reading the operator's log: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	wrong := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return !strings.Contains(line, `"level":"error"`) && !strings.Contains(line, "is forbidden")
	})
	if len(wrong) > 0 {
		return "", fmt.Errorf("%d lines tell of errors, the first: %s", len(wrong), wrong[0])
	}
	return fmt.Sprintf("%d lines", len(lines)), nil
}
