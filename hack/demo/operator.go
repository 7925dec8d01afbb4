package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

const (
	leaseName     = "memcached-operator.example.com"
	operatorLimit = time.Minute
	// stopLimit is as long as the manager gives its own runnables.
	stopLimit = 35 * time.Second
)

// operator is the manager's process.
type operator struct {
	process *os.Process
	log     string
	ended   context.Context // Done when the process has ended, with the reason as its cause.
}

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
	namespace, account := w.deployment.Namespace, w.deployment.Spec.Template.Spec.ServiceAccountName
	user := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account)
	config, err := w.cluster.AddUser(ctx, user, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	if err != nil {
		return "", fmt.Errorf("making a user of the ServiceAccount: %w", err)
	}
	kubeconfig := filepath.Join(w.dir, "operator.kubeconfig")
	if err := cluster.WriteKubeconfig(config, kubeconfig); err != nil {
		return "", err
	}
	probes, err := freeAddress(ctx)
	if err != nil {
		return "", fmt.Errorf("finding a port for the probes: %w", err)
	}
	if err := w.launch("--kubeconfig", kubeconfig, "--leader-election-namespace", namespace,
		"--health-probe-bind-address", probes, "--metrics-bind-address", "127.0.0.1:0"); err != nil {
		return "", err
	}

	ctx = w.ctx(ctx)
	if err := await(ctx, operatorLimit, "the operator's /readyz", func(ctx context.Context) (string, bool, error) {
		return get(ctx, "http://"+probes+"/readyz")
	}); err != nil {
		return "", err
	}
	return "as " + user, await(ctx, operatorLimit, "the operator to be elected leader", func(ctx context.Context) (string, bool, error) {
		holder, err := w.leader(ctx)
		return fmt.Sprintf("the Lease's holder is %q", holder), holder != "", err
	})
}

// launch starts the manager in a process group of its own: Ctrl-C is for the demo, which ends the manager in its turn.
func (w *world) launch(args ...string) error {
	log := filepath.Join(w.dir, "operator.log")
	file, err := os.Create(log) //nolint:gosec // In our own directory.
	if err != nil {
		return fmt.Errorf("creating the operator's log: %w", err)
	}
	cmd := exec.Command(w.manager(), args...) //nolint:gosec // Built by us.
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(cmd.Start(), file.Close()); err != nil {
		return fmt.Errorf("starting the operator: %w", err)
	}
	ended, end := context.WithCancelCause(context.Background()) //nolint:forbidigo // It ends with the process alone.
	w.operator = &operator{process: cmd.Process, log: log, ended: ended}
	go func() {
		if err := cmd.Wait(); err != nil {
			end(fmt.Errorf("the operator has ended: %w", err))
		} else {
			end(errEndedWell)
		}
	}()
	return nil
}

var errEndedWell = errors.New("the operator has ended by itself with exit code 0")

// stopOperator asks the operator to end, and verifies that it does so well and gives its leadership back.
func (w *world) stopOperator(ctx context.Context) (string, error) {
	if w.operator == nil {
		return "it had not started", nil
	}
	_ = w.operator.process.Signal(syscall.SIGTERM) // What has ended by itself is told by its exit code.
	select {
	case <-w.operator.ended.Done():
	case <-time.After(stopLimit):
		return "", errors.Join(fmt.Errorf("it has not ended %s after SIGTERM and was killed", stopLimit), w.operator.process.Kill())
	}
	if cause := context.Cause(w.operator.ended); !errors.Is(cause, errEndedWell) {
		return "", cause
	}
	holder, err := w.leader(ctx)
	if err == nil && holder != "" {
		err = fmt.Errorf("its Lease is still held by %s: a successor would have to wait for it to expire", holder)
	}
	return "exit code 0, leadership given back", err
}

func (w *world) leader(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	err := w.client.Get(ctx, client.ObjectKey{Namespace: w.deployment.Namespace, Name: leaseName}, lease)
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", client.IgnoreNotFound(err)
	}
	return *lease.Spec.HolderIdentity, nil
}

// noErrors looks for lines of level error: a refused right, a conflict that was not retried quietly, a panic.
func (w *world) noErrors(context.Context) (string, error) {
	log, err := os.ReadFile(w.operator.log)
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

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func get(ctx context.Context, address string) (string, bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", false, err
	}
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%s %s", response.Status, body), response.StatusCode == http.StatusOK, errors.Join(err, response.Body.Close())
}
