// Package controllers puts both controllers on a manager, the same way wherever a manager runs: in its own process,
// in a test, in a benchmark.
package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/controllers/memcached"
	"github.com/example-inc/memcached-operator/controllers/myapp"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/proxy"
	"github.com/example-inc/memcached-operator/internal/slim"
)

// Options are what the operator's user may choose.
type Options struct {
	// MemcachedImage is run where a Memcached names no image.
	MemcachedImage string
	// Proxy is handed to the pods of both kinds.
	Proxy []proxy.Setting
	// Controller holds the concurrency and the like, for each of the two controllers.
	Controller controller.Options
}

// Scheme knows the operator's kinds and Kubernetes' own.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	return scheme
}

// Cache limits the manager's cache to what the controllers read, in the namespaces, or in all where none is given.
func Cache(namespaces ...string) cache.Options {
	options := cache.Options{ByObject: slim.ByObject(), DefaultTransform: slim.Object}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// SetupWithManager adds both controllers to mgr, whose cache should be as Cache says.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, options Options) error {
	writer := client.WithFieldOwner(mgr.GetClient(), string(children.FieldOwner))
	if err := (&memcached.Reconciler{
		Client:   writer,
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(memcached.Name),
		Image:    options.MemcachedImage,
		Proxy:    options.Proxy,
	}).SetupWithManager(ctx, mgr, options.Controller); err != nil {
		return fmt.Errorf("adding the controller of Memcached: %w", err)
	}
	if err := (&myapp.Reconciler{
		Client:   writer,
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(myapp.Name),
		Proxy:    options.Proxy,
	}).SetupWithManager(ctx, mgr, options.Controller); err != nil {
		return fmt.Errorf("adding the controller of MyApp: %w", err)
	}
	return nil
}
