package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example-inc/memcached-operator/controllers"
)

// leaseName is the Lease by which the replicas of this operator elect their leader.
const leaseName = "memcached-operator.example.com"

// newManager wires everything up. It needs the API server, which must know the operator's kinds.
func newManager(ctx context.Context, s settings, restConfig *rest.Config) (manager.Manager, *readiness, error) {
	mgr, err := ctrl.NewManager(restConfig, managerOptions(s))
	if err != nil {
		return nil, nil, fmt.Errorf("creating the manager: %w", err)
	}
	if err := fillCaches(ctx, mgr.GetCache()); err != nil {
		return nil, nil, err
	}
	if err := controllers.SetupWithManager(ctx, mgr, controllers.Options{
		MemcachedImage: s.memcachedImage,
		Proxy:          s.proxy,
		Controller:     controller.Options{MaxConcurrentReconciles: s.concurrency},
	}); err != nil {
		return nil, nil, err
	}
	ready := &readiness{cache: mgr.GetCache()}
	return mgr, ready, addProbes(mgr, ready)
}

// retryPeriod is how often the leader renews its lease. A standby looks at it at intervals of up to 2.2 times that, so that
// it takes over from a leader that has handed over within three seconds; with the default it may be four and a half.
const retryPeriod = time.Second

func managerOptions(s settings) manager.Options {
	return manager.Options{
		Scheme:                  controllers.Scheme(),
		Cache:                   controllers.Cache(s.watchNamespaces...),
		Metrics:                 metricsOptions(s),
		HealthProbeBindAddress:  s.probeAddress,
		LeaderElection:          s.leaderElect,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: s.leaderNamespace,
		// Safe, because the process ends as soon as Start returns. A successor then need not wait for the lease to expire.
		LeaderElectionReleaseOnCancel: true,
		RetryPeriod:                   new(retryPeriod),
	}
}

func metricsOptions(s settings) metricsserver.Options {
	options := metricsserver.Options{
		BindAddress:   s.metricsAddress,
		SecureServing: s.metricsSecure,
		CertDir:       s.metricsCertDir,
	}
	if s.metricsSecure {
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	if !s.http2 {
		options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}
	return options
}

// addProbes makes the manager alive once it serves, and ready once its caches have synced.
func addProbes(mgr manager.Manager, ready *readiness) error {
	if err := mgr.Add(ready); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the liveness probe: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", ready.Check); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return nil
}
