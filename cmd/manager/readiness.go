package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

var (
	_ manager.Runnable               = (*readiness)(nil)
	_ manager.LeaderElectionRunnable = (*readiness)(nil)
)

// readiness turns true once the caches have synced: from then on a reconcile sees what is there.
type readiness struct {
	cache  cache.Cache
	synced atomic.Bool
}

// Start waits for the caches.
func (r *readiness) Start(ctx context.Context) error {
	if r.cache.WaitForCacheSync(ctx) {
		r.synced.Store(true)
	}
	return nil
}

// NeedLeaderElection is false: a standby fills its caches too, so that it can take over at once.
func (r *readiness) NeedLeaderElection() bool { return false }

// Check is the readiness probe.
func (r *readiness) Check(*http.Request) error {
	if !r.synced.Load() {
		return errors.New("the caches have not synced yet")
	}
	return nil
}
