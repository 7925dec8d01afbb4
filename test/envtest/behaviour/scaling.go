package behaviour

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/test/suite"
)

func scaling(s *stage) {
	Describe("scaling", func() {
		s.setUp()

		DescribeTable("follows the spec", func(ctx SpecContext, from, to int32) {
			owner := s.create(ctx, s.replicas(from))
			deploy := suite.Deployment(owner)
			Eventually(ctx, s.Komega(ctx).Object(deploy)).Should(HaveField("Spec.Replicas", HaveValue(Equal(from))))
			s.change(ctx, owner, func() { s.replicas(to)(owner) })
			Eventually(ctx, s.Komega(ctx).Object(deploy)).Should(HaveField("Spec.Replicas", HaveValue(Equal(to))))
			s.settle(ctx, owner)
		},
			Entry("up", limit, int32(1), int32(4)),
			Entry("down", limit, int32(4), int32(1)),
		)

		It("has a disruption budget from two pods up, and only then", func(ctx SpecContext) {
			owner := s.create(ctx, s.replicas(2))
			budget := suite.Budget(owner)
			Eventually(ctx, s.Komega(ctx).Get(budget)).Should(Succeed())
			s.change(ctx, owner, func() { s.replicas(1)(owner) })
			Eventually(ctx, func(g Gomega) {
				g.Expect(s.collect(ctx, budget)).To(Succeed())
				g.Expect(s.Komega(ctx).Get(budget)()).To(Satisfy(apierrors.IsNotFound))
			}).Should(Succeed())
			s.change(ctx, owner, func() { s.replicas(3)(owner) })
			Eventually(ctx, s.Komega(ctx).Get(budget)).Should(Succeed())
		}, limit)

		It("leaves the pod template alone (opentelemetry-operator#2585)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			deploy := suite.Deployment(owner)
			s.read(ctx, deploy)
			template := deploy.Spec.Template.DeepCopy()
			for _, n := range []int32{5, 1} {
				s.change(ctx, owner, func() { s.replicas(n)(owner) })
				s.settle(ctx, owner)
				s.read(ctx, deploy)
				Expect(deploy.Spec.Replicas).To(HaveValue(Equal(n)))
				Expect(&deploy.Spec.Template).To(Equal(template))
			}
		}, limit)

		It("takes what an autoscaler writes to /scale, and shows it the pods", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			scale := &autoscalingv1.Scale{}
			Expect(s.Client.SubResource("scale").Get(ctx, owner, scale)).To(Succeed())
			Expect(scale.Spec.Replicas).To(BeEquivalentTo(3))
			Expect(scale.Status.Replicas).To(BeEquivalentTo(3))
			deploy := suite.Deployment(owner)
			s.read(ctx, deploy)
			Expect(scale.Status.Selector).NotTo(BeEmpty())
			Expect(scale.Status.Selector).To(Equal(metav1.FormatLabelSelector(deploy.Spec.Selector)))

			scale.Spec.Replicas = 7
			Expect(s.Client.SubResource("scale").Update(ctx, owner, client.WithSubResourceBody(scale))).To(Succeed())
			s.settle(ctx, owner)
			Expect(s.Komega(ctx).Object(deploy)()).To(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(7))))
		}, limit)

		It("does not fight an autoscaler (operator-sdk#3367, LLMKube#484)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			deploy := suite.Deployment(owner)
			for _, n := range []int32{4, 6, 5, 2} {
				scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
				mark := s.operator.Traffic.Mark()
				Expect(s.Client.SubResource("scale").Patch(ctx, owner, client.Merge, client.WithSubResourceBody(scale))).To(Succeed())
				s.settle(ctx, owner)
				Expect(*s.kind.Replicas(owner)).To(HaveValue(Equal(n)), "the operator must not write what the autoscaler has decided")
				Expect(s.Komega(ctx).Object(deploy)()).To(HaveField("Spec.Replicas", HaveValue(Equal(n))))
				Expect(suite.WritesTo("deployments", s.operator.Traffic.WritesSince(mark))).To(HaveLen(1), "one change, one write")
				s.quiet(ctx, func() { s.poke(ctx, deploy) })
			}
		}, limit)
	})
}
