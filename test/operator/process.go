package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

// ErrEndedWell is the cause of the end of a process that ended by itself with exit code 0.
var ErrEndedWell = errors.New("the operator has ended by itself with exit code 0")

// Process is one running manager.
type Process struct {
	// Log is the file that it logs to.
	Log string
	// Probes and Metrics are the addresses that it serves.
	Probes, Metrics string
	// Ended is done when the process has ended, with the reason as its cause.
	Ended context.Context

	process *os.Process
}

// User is the name of the Deployment's ServiceAccount to the API server.
func User(d *appsv1.Deployment) string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", d.Namespace, d.Spec.Template.Spec.ServiceAccountName)
}

// Kubeconfig writes a kubeconfig into dir with which a process is the Deployment's ServiceAccount.
func Kubeconfig(ctx context.Context, c cluster.Cluster, d *appsv1.Deployment, dir string) (string, error) {
	config, err := c.AddUser(ctx, User(d), "system:serviceaccounts", "system:serviceaccounts:"+d.Namespace)
	if err != nil {
		return "", fmt.Errorf("making a user of the ServiceAccount: %w", err)
	}
	path := filepath.Join(dir, "operator.kubeconfig")
	return path, cluster.WriteKubeconfig(config, path)
}

// Start starts a manager whose Lease is in namespace, and which logs to log. It does not wait until the manager is ready.
func Start(ctx context.Context, program, kubeconfig, namespace, log string, args ...string) (*Process, error) {
	p := &Process{Log: log}
	for _, address := range []*string{&p.Probes, &p.Metrics} {
		var err error
		if *address, err = freeAddress(ctx); err != nil {
			return nil, fmt.Errorf("finding a port for the operator: %w", err)
		}
	}
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("creating the operator's log: %w", err)
	}
	cmd := exec.Command(program, append([]string{
		"--kubeconfig", kubeconfig, "--leader-election-namespace", namespace,
		"--health-probe-bind-address", p.Probes, "--metrics-bind-address", p.Metrics,
	}, args...)...)
	cmd.Stdout, cmd.Stderr = file, file
	// In a group of its own: Ctrl-C is for whoever started it, and who ends it in their turn.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	err = errors.Join(p.launch(ctx, cmd), file.Close())
	if err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	return p, nil
}

// launch starts cmd in a thread of its own, which lives as long: the signal of a parent's death goes by the thread.
func (p *Process) launch(ctx context.Context, cmd *exec.Cmd) error {
	ended, end := context.WithCancelCause(context.WithoutCancel(ctx)) // It ends with the process alone.
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			end(err)
			return
		}
		if err := cmd.Wait(); err != nil {
			end(fmt.Errorf("the operator has ended: %w", err))
			return
		}
		end(ErrEndedWell)
	}()
	err := <-started
	p.Ended, p.process = ended, cmd.Process
	return err
}

// Signal sends the process a signal. One that has ended is none the worse for it.
func (p *Process) Signal(sig os.Signal) { _ = p.process.Signal(sig) }

// Ready asks whether the manager is ready, in the form of one look of a wait.
func (p *Process) Ready(ctx context.Context) (seen string, ready bool, _ error) {
	if cause := context.Cause(p.Ended); cause != nil {
		return "", false, cause
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Probes+"/readyz", nil)
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

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
