package suite

import (
	"context"
	"net/http"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/example-inc/memcached-operator/controllers"
	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/internal/proxy"
)

// DefaultImage is what the operators of the suites run where a Memcached names no image.
const DefaultImage = "memcached:1.6.39-alpine"

// Setup is how an operator is set up.
type Setup struct {
	// Namespaces are those that it watches, the spec's own unless changed, all where there are none.
	Namespaces []string
	// Image is what it runs where a Memcached names none.
	Image string
	// Proxy is what it hands to the pods.
	Proxy []proxy.Setting
	// Wrap stands between the record and the API server where it is given.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Operator is one running manager with both controllers, as cmd/manager sets it up.
type Operator struct {
	// Traffic is what it has asked of the API server.
	Traffic *Traffic
	// Log is what it has logged.
	Log *Log
	// Manager is the manager itself.
	Manager manager.Manager

	running *cluster.Running
}

// Run starts an operator and returns once its caches have synced. It ends with Stop, or with the spec. At its end it must
// neither have lacked a right, nor have logged a conflict as an error (operator-sdk#3968), in whatever spec.
func (e *Env) Run(ctx context.Context, changes ...func(*Setup)) *Operator {
	ginkgo.GinkgoHelper()
	setup := Setup{Namespaces: []string{e.Namespace}, Image: DefaultImage}
	for _, change := range changes {
		change(&setup)
	}
	o := &Operator{Traffic: &Traffic{}, Log: &Log{}}
	running, err := cluster.RunManager(context.WithoutCancel(ctx), func(options manager.Options) (manager.Manager, error) {
		return o.build(ctx, e.Suite, setup, options)
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	o.running = running
	ginkgo.DeferCleanup(o.Stop)
	return o
}

// Stop ends the operator and judges its record. It may be called again.
func (o *Operator) Stop() {
	ginkgo.GinkgoHelper()
	gomega.Expect(o.running.Stop()).To(gomega.Succeed())
	gomega.Expect(o.Traffic.Forbidden()).To(gomega.BeEmpty(), "requests that the shipped role does not allow")
	gomega.Expect(o.Log.Errors()).NotTo(gomega.ContainElement(gomega.ContainSubstring("object has been modified")),
		"a conflict is to be a quiet retry")
}

func (o *Operator) build(ctx context.Context, s *Suite, setup Setup, options manager.Options) (manager.Manager, error) {
	config := rest.CopyConfig(s.operator)
	if setup.Wrap != nil {
		config.Wrap(setup.Wrap)
	}
	config.Wrap(o.Traffic.wrap)

	options.Scheme = s.Scheme
	options.Cache = controllers.Cache(setup.Namespaces...)
	options.Logger = o.Log.logger()
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, err
	}
	o.Manager = mgr
	return mgr, controllers.SetupWithManager(ctx, mgr, controllers.Options{MemcachedImage: setup.Image, Proxy: setup.Proxy})
}
