package behaviour

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/proxy"
	"github.com/example-inc/memcached-operator/test/suite"
)

// poke changes object in a way that is nobody's concern, so that the operator looks at it again.
func (s *stage) poke(ctx context.Context, object client.Object) {
	GinkgoHelper()
	patch := []byte(`{"metadata":{"labels":{"example.com/poke":"` + rand.String(8) + `"}}}`)
	Expect(s.Client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
}

// calm waits until the operator has written something, and nothing since.
func (s *stage) calm(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() time.Duration {
		writes := s.operator.Traffic.Writes()
		if len(writes) == 0 {
			return 0
		}
		return time.Since(writes[len(writes)-1].At)
	}).Should(BeNumerically(">", time.Second))
}

// quiet expects that what stir does makes the operator reconcile, and that this makes it write nothing, now or soon.
func (s *stage) quiet(ctx context.Context, stir func()) {
	GinkgoHelper()
	before, mark := suite.Reconciles(s.kind), s.operator.Traffic.Mark()
	stir()
	Eventually(ctx, func() float64 { return suite.Reconciles(s.kind) }).Should(BeNumerically(">", before))
	Consistently(ctx, func() []suite.Request { return s.operator.Traffic.WritesSince(mark) }).
		WithTimeout(700 * time.Millisecond).Should(BeEmpty())
}

func quiescence(s *stage) {
	Describe("a settled resource", func() {
		s.setUp()

		It("costs no write, whatever wakes the operator (controller-runtime#2733, #2831)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			versions := s.versions(ctx, owner)
			for range 3 {
				s.quiet(ctx, func() { s.poke(ctx, suite.Service(owner)) })
			}
			s.quiet(ctx, func() { s.poke(ctx, suite.Deployment(owner)) })
			Expect(s.versions(ctx, owner)).To(Equal(versions), "generations")
			s.read(ctx, owner)
			version := owner.GetResourceVersion()
			s.quiet(ctx, func() { s.poke(ctx, suite.Budget(owner)) })
			s.read(ctx, owner)
			Expect(owner.GetResourceVersion()).To(Equal(version))
		}, limit)

		It("costs no write after a restart of the manager (konflux-ci#5874)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			s.operator.Stop()
			before := suite.Reconciles(s.kind)
			s.operator = s.Run(ctx)
			Eventually(ctx, func() float64 { return suite.Reconciles(s.kind) }).Should(BeNumerically(">", before))
			Consistently(ctx, s.operator.Traffic.Writes).Should(BeEmpty())
		}, limit)

		It("costs no write with any spec that is valid", func(ctx SpecContext) {
			for seed := range 12 {
				owner := s.create(ctx, func(o client.Object) { s.kind.Vary(o, uint64(seed)) })
				s.settle(ctx, owner)
				s.quiet(ctx, func() { s.poke(ctx, suite.Service(owner)) })
			}
		}, SpecTimeout(4*time.Minute))
	})

	Describe("a suspended resource", func() {
		s.setUp()

		It("keeps its children as they are until it is resumed, and is still reported", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			s.change(ctx, owner, func() { *s.kind.Suspend(owner) = new(true); s.replicas(5)(owner) })
			Eventually(ctx, s.Komega(ctx).Object(owner)).Should(
				suite.HaveCondition(workload.ConditionProgressing, metav1.ConditionFalse, workload.ReasonSuspended))
			mark := s.operator.Traffic.Mark()
			deploy := suite.Deployment(owner)
			s.change(ctx, deploy, func() { deploy.Spec.Replicas = new(int32(1)) })
			Consistently(ctx, func() []suite.Request { return suite.WritesTo("deployments", s.operator.Traffic.WritesSince(mark)) }).Should(BeEmpty())

			s.change(ctx, owner, func() { *s.kind.Suspend(owner) = nil })
			s.settle(ctx, owner)
			s.read(ctx, deploy)
			Expect(deploy.Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
		}, limit)

		It("is torn down like any other", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			s.change(ctx, owner, func() { *s.kind.Suspend(owner) = new(true) })
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			s.gone(ctx, owner)
		}, limit)
	})

	Describe("the proxy settings of the operator", func() {
		s.setUp()

		It("reach the pods, and a change of them rolls once (camel-k#1402)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			generation := s.versions(ctx, owner)["Deployment"]
			s.operator.Stop()
			s.operator = s.Run(ctx, func(setup *suite.Setup) {
				setup.Proxy = []proxy.Setting{{Name: "HTTPS_PROXY", Value: "http://proxy.example.com:3128"}}
			})
			deploy := suite.Deployment(owner)
			Eventually(ctx, s.Komega(ctx).Object(deploy)).Should(HaveField("Spec.Template.Spec.Containers", ContainElement(
				HaveField("Env", ContainElements(
					corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy.example.com:3128"},
					corev1.EnvVar{Name: "https_proxy", Value: "http://proxy.example.com:3128"},
				)))))
			s.settle(ctx, owner)
			s.calm(ctx) // The status was right before, too: only then are the nodes the new pods.
			s.quiet(ctx, func() { s.poke(ctx, suite.Service(owner)) })
			Expect(s.versions(ctx, owner)["Deployment"]).To(Equal(generation + 1))
		}, limit)
	})
}

// versions are the generations of owner's children that have one.
func (s *stage) versions(ctx context.Context, owner client.Object) map[string]int64 {
	GinkgoHelper()
	deploy, budget := suite.Deployment(owner), suite.Budget(owner)
	s.read(ctx, deploy)
	s.read(ctx, budget)
	return map[string]int64{"Deployment": deploy.Generation, "PodDisruptionBudget": budget.Generation}
}
