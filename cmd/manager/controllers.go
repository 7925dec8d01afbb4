package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/controllers/memcached"
	"github.com/example-inc/memcached-operator/controllers/myapp"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/slim"
)

// addControllers sets both controllers up.
func addControllers(ctx context.Context, mgr manager.Manager, s settings) error {
	options := controller.Options{MaxConcurrentReconciles: s.concurrency}
	writer := client.WithFieldOwner(mgr.GetClient(), string(children.FieldOwner))

	memcacheds := &memcached.Reconciler{
		Client:   writer,
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(memcached.Name),
		Image:    s.memcachedImage,
		Proxy:    s.proxy,
	}
	if err := memcacheds.SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("setting up the controller of Memcached: %w", err)
	}
	myapps := &myapp.Reconciler{
		Client:   writer,
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(myapp.Name),
		Proxy:    s.proxy,
	}
	if err := myapps.SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("setting up the controller of MyApp: %w", err)
	}
	return nil
}

// cacheOptions limits the cache to the watched namespaces, to what carries the operator's label, and to what is read.
func cacheOptions(s settings) cache.Options {
	options := cache.Options{ByObject: slim.ByObject(), DefaultTransform: slim.Object}
	for _, namespace := range s.watchNamespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// fillCaches makes every cache fill from the start. Left to the controllers it would begin with the leadership: a standby
// would call itself ready with empty caches, and take over slowly.
func fillCaches(ctx context.Context, c cache.Cache) error {
	kinds := []client.Object{&cachev1.Memcached{}, &appv1alpha1.MyApp{}}
	for child := range slim.ByObject() {
		kinds = append(kinds, child)
	}
	for _, kind := range kinds {
		if _, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("watching %T (are the CRDs installed? make install): %w", kind, err)
		}
	}
	return nil
}
