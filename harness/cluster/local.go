package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

// bootAttempts is how often a local level is tried when somebody else takes one of its ports meanwhile.
const bootAttempts = 3

// stopOrder is the order in which the components of a local level end: whoever talks to another ends before it.
var stopOrder = [][]string{
	{string(binaries.Kwokctl), kwokController, string(binaries.KubeScheduler), string(binaries.KubeControllerManager)},
	{string(binaries.KubeAPIServer)},
	{string(binaries.Etcd)},
}

// site is what a local level is built on: one attempt with its own directory and ports.
type site struct {
	Options
	run      *runDir
	reserved *reservations
	paths    binaries.Paths
	progress *progress
	gates    []*os.File
}

// bootFunc starts the components of a level and returns an administrator's configuration and the CA of its users.
type bootFunc func(ctx context.Context, s *site) (*rest.Config, *authority, error)

func startLocal(ctx context.Context, o Options, p *progress, boot bootFunc) (Cluster, error) {
	tools := binaries.Envtest()
	if o.Level == Kwok {
		tools = binaries.All()
	}
	paths, err := binaries.Ensure(ctx, binaries.Options{Out: o.Out}, tools...)
	if err != nil {
		return nil, fmt.Errorf("starting the %s level: %w", o.Level, err)
	}
	for attempt := 1; ; attempt++ {
		h, err := attemptLocal(ctx, o, p, paths, boot)
		if err == nil {
			return h, nil
		}
		if attempt == bootAttempts || ctx.Err() != nil || !portTaken(err) {
			return nil, err
		}
		p.done("a port was taken by another process, trying others")
	}
}

func attemptLocal(ctx context.Context, o Options, p *progress, paths binaries.Paths, boot bootFunc) (Cluster, error) {
	run, err := newRunDir(o.Name)
	if err != nil {
		return nil, startError(o.Level, err, nil)
	}
	s := &site{Options: o, run: run, reserved: &reservations{}, paths: paths, progress: p}
	if s.ports == nil {
		s.ports = s.reserved.reserve
	}
	admin, users, err := boot(ctx, s)
	if err == nil {
		err = s.writeKubeconfig(admin)
	}
	if err != nil {
		failure := run.failed(o.Level, err)
		failure.Err = errors.Join(failure.Err, s.takeDown(ctx, 0))
		return nil, failure
	}
	return &handle{
		level:      o.Level,
		can:        capabilities(o.Level),
		admin:      tune(admin, o.Out),
		kubeconfig: run.join("kubeconfig"),
		users:      users,
		end:        func(ctx context.Context) error { return s.takeDown(ctx, o.StopGrace) },
		logs:       func(_ context.Context, dir string) error { return run.copyLogs(dir) },
	}, nil
}

// takeDown ends every component, then gives back what the site held.
func (s *site) takeDown(ctx context.Context, grace time.Duration) error {
	defer s.reserved.release()
	for _, gate := range s.gates {
		_ = gate.Close()
	}
	errs := make([]error, 0, len(stopOrder))
	for _, components := range stopOrder {
		errs = append(errs, s.run.stop(ctx, grace, components...))
	}
	if err := errors.Join(errs...); err != nil {
		return err // The watchdog tries again when this process ends.
	}
	return s.run.remove()
}

func (s *site) writeKubeconfig(admin *rest.Config) error {
	return WriteKubeconfig(admin, s.run.join("kubeconfig"))
}

// launchers writes the launcher of each tool and returns their paths.
func (s *site) launchers(help map[binaries.Tool]string, names map[binaries.Tool]string) (binaries.Paths, error) {
	launchers := binaries.Paths{}
	for tool, path := range s.paths {
		component := string(tool)
		if names[tool] != "" {
			component = names[tool]
		}
		launcher, err := s.run.launcher(component, path, help[tool])
		if err != nil {
			return nil, err
		}
		launchers[tool] = launcher
	}
	return launchers, nil
}

// during runs start, and while it runs on after ctx is done kills whatever it has started, again and again, because it
// cannot be told to start no more.
func (s *site) during(ctx context.Context, start func() error) error {
	started := make(chan error, 1)
	go func() { started <- start() }()
	select {
	case err := <-started:
		return err
	case <-ctx.Done():
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-started: //nolint:errcheck // It was killed, and so failed.
			return fmt.Errorf("given up while starting: %w", context.Cause(ctx))
		case <-tick.C:
			if pids, err := s.run.processes(); err == nil {
				signalAll(pids, syscall.SIGKILL)
			}
		}
	}
}

// portTaken tells whether a start failed because a port that had been free no longer was.
func portTaken(err error) bool {
	var e *StartError
	return errors.As(err, &e) && strings.Contains(e.Error(), "address already in use")
}
