package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	managerStartTimeout = 60 * time.Second
	managerStopTimeout  = 30 * time.Second
	managerGrace        = 10 * time.Second
)

// Running is a manager that RunManager started.
type Running struct {
	// Manager is what the build function returned.
	Manager manager.Manager

	cancel context.CancelFunc
	done   chan struct{}
	err    error // Written before done is closed.
}

// RunManager builds a manager, starts it and returns once its caches have synced. A test may do so again and again, for
// a restart, or several times at once: build gets options that allow the same controller names more than once in a
// process (controller-runtime#2937) and bind no ports, adds its own, and returns the manager with its controllers set up.
// The manager ends by Stop, which must come before the cluster's, or when ctx is done.
func RunManager(ctx context.Context, build func(manager.Options) (manager.Manager, error)) (*Running, error) {
	mgr, err := build(manager.Options{
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: new(managerGrace),
		Controller:              config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("building a manager: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &Running{Manager: mgr, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = mgr.Start(ctx)
	}()
	if err := r.awaitSync(ctx); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

func (r *Running) awaitSync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, managerStartTimeout)
	defer cancel()
	synced := make(chan bool, 1)
	go func() { synced <- r.Manager.GetCache().WaitForCacheSync(ctx) }()
	select {
	case <-r.done:
		return errors.New("the manager ended while it was starting")
	case ok := <-synced:
		if !ok {
			return fmt.Errorf("waiting up to %s for the manager's caches to sync: %w", managerStartTimeout, context.Cause(ctx))
		}
		return nil
	}
}

// Done is closed when the manager has ended.
func (r *Running) Done() <-chan struct{} { return r.done }

// Stop cancels the manager, waits until its Start has returned and returns what that returned. It may be called again.
func (r *Running) Stop() error {
	r.cancel()
	deadline := time.NewTimer(managerStopTimeout)
	defer deadline.Stop()
	select {
	case <-r.done:
		if r.err != nil {
			return fmt.Errorf("running the manager: %w", r.err)
		}
		return nil
	case <-deadline.C:
		return fmt.Errorf("the manager has not returned %s after its context was cancelled: "+
			"one of its runnables or reconcilers does not heed its context", managerStopTimeout)
	}
}
