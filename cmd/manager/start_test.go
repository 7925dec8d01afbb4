package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// controller-runtime#3440: without rights the caches never sync, and such a manager must still end when it is told to.
func TestManagerEndsWhileItsCachesHaveNotSynced(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	spinning := manager.RunnableFunc(func(context.Context) error {
		cancel()
		<-t.Context().Done() // As long as the test lasts.
		return nil
	})
	if err := start(ctx, spinning, &atomic.Bool{}); err != nil {
		t.Errorf("start() = %v, want nil", err)
	}
}

func TestManagerIsWaitedForOnceItHasBegun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	synced, want := &atomic.Bool{}, errors.New("its lease could not be given back")
	orderly := manager.RunnableFunc(func(ctx context.Context) error {
		synced.Store(true)
		cancel()
		<-ctx.Done()
		return want
	})
	if err := start(ctx, orderly, synced); !errors.Is(err, want) {
		t.Errorf("start() = %v, want %v", err, want)
	}
}

// syncing is a cache of which nothing but the syncing is called.
type syncing struct {
	cache.Cache
	ok bool
}

func (s syncing) WaitForCacheSync(context.Context) bool { return s.ok }

func TestReadyOnlyOnceTheCachesHaveSynced(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"Synced": true, "Interrupted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &readiness{cache: syncing{ok: ok}}
			if r.NeedLeaderElection() {
				t.Error("a standby would never be ready")
			}
			if r.Check(&http.Request{}) == nil {
				t.Error("ready before the caches were even waited for")
			}
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := r.Check(&http.Request{}) == nil; got != ok {
				t.Errorf("ready is %t, want %t", got, ok)
			}
		})
	}
}
