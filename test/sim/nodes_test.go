package sim_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/test/suite"
)

// operator-sdk#6166, operator-sdk#4679
var _ = Describe("status.nodes of a Memcached", func() {
	s := &stage{kind: suite.Memcached}
	s.setUp()

	var mc *cachev1.Memcached
	BeforeEach(func(ctx SpecContext) { mc = s.create(ctx, 3).(*cachev1.Memcached) }, NodeTimeout(time.Minute))

	// follow waits until the nodes are the n pods that run, and returns them.
	follow := func(ctx context.Context, n int) []string {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			g.Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
			g.Expect(mc.Status.Nodes).To(HaveLen(n))
			g.Expect(mc.Status.Nodes).To(Equal(s.running(ctx, mc)))
		}).Should(Succeed())
		return mc.Status.Nodes
	}

	It("are the pods that run", func(ctx SpecContext) { follow(ctx, 3) }, limit)

	It("follow a scale up and keep those that were there", func(ctx SpecContext) {
		before := follow(ctx, 3)
		s.change(ctx, mc, func() { mc.Spec.Size = new(int32(5)) })
		Expect(follow(ctx, 5)).To(ContainElements(before))
	}, limit)

	It("follow a scale down, to nothing and back", func(ctx SpecContext) {
		before := follow(ctx, 3)
		s.change(ctx, mc, func() { mc.Spec.Size = new(int32(1)) })
		Expect(before).To(ContainElement(follow(ctx, 1)[0]))
		s.change(ctx, mc, func() { mc.Spec.Size = new(int32(0)) })
		follow(ctx, 0)
		s.settle(ctx, mc)
		s.change(ctx, mc, func() { mc.Spec.Size = new(int32(2)) })
		follow(ctx, 2)
	}, limit)

	It("follow the deletion of a pod", func(ctx SpecContext) {
		victim := follow(ctx, 3)[1]
		for _, pod := range s.pods(ctx, mc) {
			if pod.Name == victim {
				Expect(s.Client.Delete(ctx, &pod)).To(Succeed())
			}
		}
		Eventually(ctx, func() []string { return follow(ctx, 3) }).ShouldNot(ContainElement(victim))
	}, limit)

	It("follow a rollout, after which no old pod is left", func(ctx SpecContext) {
		before := follow(ctx, 3)
		s.change(ctx, mc, func() { mc.Spec.Image = "memcached:1.6.40" })
		s.settle(ctx, mc)
		after := follow(ctx, 3)
		for _, name := range before {
			Expect(after).NotTo(ContainElement(name))
		}
	}, limit)
})

// LLMKube#484, runtime-component-operator#68, operator-sdk#3367
var _ = Describe("Autoscaling", func() {
	for _, kind := range kinds {
		Context("of a "+kind.Name, func() {
			s := &stage{kind: kind}
			s.setUp()

			It("goes through /scale, which an autoscaler can read, and is not fought", func(ctx SpecContext) {
				owner := s.create(ctx, 2)
				scale := &autoscalingv1.Scale{}
				Expect(s.Client.SubResource("scale").Get(ctx, owner, scale)).To(Succeed())
				Expect(scale.Status.Replicas).To(BeEquivalentTo(2))
				Expect(scale.Status.Selector).To(Equal(kind.Status(owner).Selector))

				scale.Spec.Replicas = 4
				Expect(s.Client.SubResource("scale").Update(ctx, owner, client.WithSubResourceBody(scale))).To(Succeed())
				**kind.Replicas(owner) = 4
				Eventually(ctx, s.Komega(ctx).Object(s.kind.Named(owner))).Should(
					WithTransform(func(o client.Object) int32 { return kind.Status(o).ReadyReplicas }, BeEquivalentTo(4)))
				Consistently(ctx, s.Komega(ctx).Object(suite.Deployment(owner))).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(4))))
			}, limit)
		})
	}
})
