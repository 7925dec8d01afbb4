package e2e_test

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
	"sync"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	program "github.com/example-inc/memcached-operator/test/operator"
)

// stopLimit is as long as the manager gives its own runnables.
const stopLimit = 35 * time.Second

// processes is the operator as processes beside the cluster, with exactly the rights of its ServiceAccount.
type processes struct {
	*site

	deployment *appsv1.Deployment
	kubeconfig string
	program    string
	started    int
	running    []*program.Process
}

func (p *processes) Deploy(ctx context.Context) error {
	objects, err := program.Render(ctx, p.kubectlPath, filepath.Join(root, "config/default"))
	if err != nil {
		return err
	}
	if p.deployment, _, err = program.Install(ctx, p.client, objects); err != nil {
		return err
	}
	if p.kubeconfig, err = program.Kubeconfig(ctx, p.Cluster, p.deployment, p.dir); err != nil {
		return err
	}
	if p.program, err = p.builds.of("e2e"); err != nil {
		return err
	}
	return p.Up(ctx)
}

// builds are two versions of the manager, which are built while the cluster starts.
type builds struct {
	dir  string
	done sync.WaitGroup
	errs [2]error
}

// versions are those that are built: the one that is shown, and its next.
var versions = [2]string{"e2e", "next"}

func (b *builds) start(ctx context.Context, dir string) {
	b.dir = dir
	for i, version := range versions {
		b.done.Go(func() {
			cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w -X main.version="+version, "-o", b.path(version), "./cmd/manager")
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				b.errs[i] = fmt.Errorf("building ./cmd/manager: %w\n%s", err, bytes.TrimSpace(out))
			}
		})
	}
}

func (b *builds) path(version string) string { return filepath.Join(b.dir, "manager-"+version) }

// of waits for the build of a version, and returns the program's path.
func (b *builds) of(version string) (string, error) {
	b.done.Wait()
	return b.path(version), b.errs[slices.Index(versions[:], version)]
}

func (p *processes) Up(ctx context.Context) error {
	for len(p.running) < replicas {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	for _, replica := range p.running {
		if err := p.ready(ctx, replica); err != nil {
			return err
		}
	}
	return p.awaitLeader(ctx, "")
}

func (p *processes) start(ctx context.Context) error {
	p.started++
	log := filepath.Join(p.dir, fmt.Sprintf("manager-%d.log", p.started))
	replica, err := program.Start(ctx, p.program, p.kubeconfig, systemNamespace, log, "--memcached-image", p.images.memcached)
	if err == nil {
		p.running = append(p.running, replica)
	}
	return err
}

func (p *processes) ready(ctx context.Context, replica *program.Process) error {
	return await(ctx, "the manager that logs to "+replica.Log+" to be ready", replica.Ready)
}

func (p *processes) Down(ctx context.Context) error {
	var errs []error
	for len(p.running) > 0 {
		errs = append(errs, p.end(ctx, 0))
	}
	return errors.Join(errs...)
}

// end ends one replica well.
func (p *processes) end(ctx context.Context, i int) error {
	replica := p.running[i]
	p.running = append(p.running[:i:i], p.running[i+1:]...)
	replica.Signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	select {
	case <-replica.Ended.Done():
		if cause := context.Cause(replica.Ended); !errors.Is(cause, program.ErrEndedWell) {
			return cause
		}
		return nil
	case <-ctx.Done():
		replica.Signal(syscall.SIGKILL)
		return fmt.Errorf("ending the manager that logs to %s: it is still there after %s, and was killed", replica.Log, stopLimit)
	}
}

// KillLeader finds the leader by its log: both have the same host name.
func (p *processes) KillLeader(_ context.Context, sig syscall.Signal) error {
	for i, replica := range p.running {
		log, err := os.ReadFile(replica.Log)
		if err != nil {
			return fmt.Errorf("reading the log of a manager: %w", err)
		}
		if strings.Contains(string(log), "Successfully acquired lease") {
			p.running = append(p.running[:i:i], p.running[i+1:]...)
			replica.Signal(sig)
			return nil
		}
	}
	return errors.New("killing the leader: none of the managers has logged that it leads")
}

func (p *processes) Upgrade(ctx context.Context) error {
	next, err := p.builds.of("next")
	if err != nil {
		return err
	}
	p.program = next
	for range replicas { // The new one is there before an old one goes, as the Deployment's strategy has it.
		if err := p.start(ctx); err != nil {
			return err
		}
		if err := p.ready(ctx, p.running[len(p.running)-1]); err != nil {
			return err
		}
		if err := p.end(ctx, 0); err != nil {
			return err
		}
	}
	return p.awaitLeader(ctx, "")
}

func (p *processes) Metrics(_ context.Context, ask func(address string) error) error {
	for _, replica := range p.running {
		if err := ask(replica.Metrics); err != nil {
			return err
		}
	}
	return nil
}

// Log has the logs of those that have ended, too.
func (p *processes) Log(context.Context) (map[string]string, error) {
	logs := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(p.dir, "manager-*.log"))
	for _, path := range paths {
		log, readErr := os.ReadFile(path)
		logs[strings.TrimSuffix(filepath.Base(path), ".log")] = string(log)
		err = errors.Join(err, readErr)
	}
	return logs, err
}

func (p *processes) Undeploy(ctx context.Context) error {
	if _, err := p.command(ctx, nil, "hack/cluster.sh", "undeploy"); err != nil {
		return err
	}
	return p.Remove(ctx)
}

func (p *processes) Remove(ctx context.Context) error {
	return p.Down(ctx)
}
