package suite

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/harness/cluster"
)

// Env is the surroundings of one spec.
type Env struct {
	*Suite
	// Namespace is the spec's own. Its pods are under the restricted Pod Security Standard.
	Namespace string
}

// Env makes the surroundings of a spec. At the spec's end nothing is waited for: what is left in the namespace is only
// kept from hindering its deletion.
func (s *Suite) Env(ctx context.Context) *Env {
	ginkgo.GinkgoHelper()
	name, remove, err := cluster.CreateNamespace(ctx, s.Cluster, "spec")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	e := &Env{Suite: s, Namespace: name}
	ginkgo.DeferCleanup(func(ctx ginkgo.SpecContext) {
		gomega.Expect(remove(ctx)).To(gomega.Succeed())
		e.release(ctx)
	})
	return e
}

// Komega polls as the spec does, uncached.
func (e *Env) Komega(ctx context.Context) komega.Komega { return komega.New(e.Client).WithContext(ctx) }

// release takes the finalizers off the custom resources that the spec has left: no operator will.
func (e *Env) release(ctx context.Context) {
	for _, list := range []client.ObjectList{&cachev1.MemcachedList{}, &appv1alpha1.MyAppList{}} {
		gomega.Expect(e.Client.List(ctx, list, client.InNamespace(e.Namespace))).To(gomega.Succeed())
		gomega.Expect(eachItem(list, func(object client.Object) error {
			if len(object.GetFinalizers()) == 0 {
				return nil
			}
			return client.IgnoreNotFound(e.Client.Patch(ctx, object,
				client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
		})).To(gomega.Succeed())
	}
}
