// Command tutorial runs the reconciler that the well-known Memcached tutorial ends with, on a manager as its scaffold sets
// it up: the yardstick of the benchmark. It takes the same flags as the operator's own manager as far as the
// benchmark sets them, and reconciles as many resources at once.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

type settings struct {
	namespaces     string
	probeAddress   string
	metricsAddress string
	metricsSecure  bool
	leaderElect    bool
	concurrency    int
	log            zap.Options
}

func main() {
	var s settings
	flag.StringVar(&s.namespaces, "watch-namespaces", "", "Comma-separated namespaces to watch; empty means all.")
	flag.StringVar(&s.probeAddress, "health-probe-bind-address", ":8081", "Address of the probes.")
	flag.StringVar(&s.metricsAddress, "metrics-bind-address", ":8443", "Address of the metrics.")
	flag.BoolVar(&s.metricsSecure, "metrics-secure", true, "Serve metrics over HTTPS, to those who are authorized.")
	flag.BoolVar(&s.leaderElect, "leader-elect", false, "Act only as the elected leader.")
	flag.IntVar(&s.concurrency, "max-concurrent-reconciles", 1, "Number of resources that are reconciled at once.")
	s.log.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&s.log)))
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "tutorial:", err)
		os.Exit(1)
	}
}

func run(s settings) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1.AddToScheme(scheme))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	metrics := metricsserver.Options{BindAddress: s.metricsAddress, SecureServing: s.metricsSecure}
	if s.metricsSecure {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Cache:                  cacheOf(s.namespaces),
		Metrics:                metrics,
		HealthProbeBindAddress: s.probeAddress,
		LeaderElection:         s.leaderElect,
		LeaderElectionID:       "tutorial.example.com",
	})
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	r := &memcachedReconciler{Client: mgr.GetClient(), scheme: mgr.GetScheme()}
	if err := r.setupWithManager(mgr, s.concurrency); err != nil {
		return fmt.Errorf("adding the controller: %w", err)
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return fmt.Errorf("adding the liveness probe: %w", err)
	}
	if err := mgr.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// cacheOf is the cache of everything, in the namespaces if there are any.
func cacheOf(namespaces string) cache.Options {
	if namespaces == "" {
		return cache.Options{}
	}
	options := cache.Options{DefaultNamespaces: map[string]cache.Config{}}
	for namespace := range strings.SplitSeq(namespaces, ",") {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}
