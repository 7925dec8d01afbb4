package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/internal/slim"
)

// fillCaches makes every cache fill from the start. Left to the controllers it would begin with the leadership: a standby
// would call itself ready with empty caches, and take over slowly.
func fillCaches(ctx context.Context, c cache.Cache) error {
	kinds := slices.AppendSeq([]client.Object{&cachev1.Memcached{}, &appv1alpha1.MyApp{}}, maps.Keys(slim.ByObject()))
	for _, kind := range kinds {
		if _, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("watching %T (are the CRDs installed? make install): %w", kind, err)
		}
	}
	return nil
}
