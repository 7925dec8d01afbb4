package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

// censusTimeout is how long nothing may get better before waiting is given up.
const censusTimeout = 2 * time.Minute

// census counts by a watch the objects of a namespace that are as they should be.
type census struct {
	what string
	end  context.CancelFunc

	mu      sync.Mutex
	good    map[client.ObjectKey]bool
	changed chan struct{}
}

// count begins a census in a namespace, or in all where it is empty. What is there already is counted in.
func count[T client.Object](ctx context.Context, st *site, namespace string, kind T, good func(T) bool) (*census, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &census{what: fmt.Sprintf("%T", kind), end: cancel, good: map[client.ObjectKey]bool{}, changed: make(chan struct{}, 1)}
	watches, err := cache.New(st.Config(), cache.Options{
		Scheme:            newScheme(),
		DefaultNamespaces: map[string]cache.Config{namespace: {}}, // The empty name stands for all.
		DefaultTransform:  cache.TransformStripManagedFields(),
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching %s: %w", c.what, err)
	}
	go func() { _ = watches.Start(ctx) }() // It returns nil when its context ends.
	informer, err := watches.GetInformer(ctx, kind)
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { c.see(client.ObjectKeyFromObject(object.(client.Object)), good(object.(T))) },
			UpdateFunc: func(_, object any) { c.see(client.ObjectKeyFromObject(object.(client.Object)), good(object.(T))) },
		})
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching %s: %w", c.what, err)
	}
	return c, nil
}

// countMemcacheds counts the resources that ready is true of.
func countMemcacheds(ctx context.Context, st *site, namespace string, ready func(*cachev1.Memcached) bool) (*census, error) {
	return count(ctx, st, namespace, &cachev1.Memcached{}, ready)
}

// countPods counts the pods that are ready.
func countPods(ctx context.Context, st *site, namespace string) (*census, error) {
	return count(ctx, st, namespace, &corev1.Pod{}, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
}

func (c *census) see(key client.ObjectKey, good bool) {
	c.mu.Lock()
	if good {
		c.good[key] = true
	} else {
		delete(c.good, key)
	}
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// await waits until n objects are as they should be.
func (c *census) await(ctx context.Context, n int) error {
	for best := 0; ; {
		c.mu.Lock()
		have := len(c.good)
		c.mu.Unlock()
		if have >= n {
			return nil
		}
		stuck := time.NewTimer(censusTimeout)
		for have <= best {
			select {
			case <-ctx.Done():
				stuck.Stop()
				return context.Cause(ctx)
			case <-stuck.C:
				return fmt.Errorf("waiting for %d of %s: no more than %d are as they should be", n, c.what, best)
			case <-c.changed:
			}
			c.mu.Lock()
			have = len(c.good)
			c.mu.Unlock()
		}
		stuck.Stop()
		best = have
	}
}
