package behaviour

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/example-inc/memcached-operator/test/suite"
)

func creation(s *stage) {
	Describe("creation", func() {
		s.setUp()

		It("makes a Deployment of the replicas and the image that are asked for", func(ctx SpecContext) {
			owner := s.create(ctx)
			Eventually(ctx, s.Komega(ctx).Object(suite.Deployment(owner))).Should(And(
				HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(3))),
				HaveField("Spec.Selector.MatchLabels", s.kind.Selector(owner.GetName())),
				HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", s.image(owner)))),
			))
		}, limit)

		It("makes children that are the resource's own, and find its pods", func(ctx SpecContext) {
			owner := s.create(ctx)
			for _, child := range s.owned(ctx, owner) {
				Expect(child.GetOwnerReferences()).To(ConsistOf(metav1.OwnerReference{
					APIVersion: s.gvk(owner).GroupVersion().String(), Kind: s.kind.Name,
					Name: owner.GetName(), UID: owner.GetUID(),
					Controller: new(true), BlockOwnerDeletion: new(true),
				}))
				Expect(child.GetLabels()).To(HaveKeyWithValue("app.kubernetes.io/managed-by", "memcached-operator"))
			}
			Expect(s.Komega(ctx).Object(suite.Service(owner))()).
				To(HaveField("Spec.Selector", s.kind.Selector(owner.GetName())))
			Expect(s.Komega(ctx).Object(suite.Budget(owner))()).
				To(HaveField("Spec.Selector.MatchLabels", s.kind.Selector(owner.GetName())))
		}, limit)

		It("holds the resource by a finalizer before it makes the first child", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.owned(ctx, owner)
			Expect(s.Komega(ctx).Object(owner)()).To(HaveField("Finalizers", ConsistOf(s.kind.Finalizer)))
			Expect(s.operator.Traffic.Writes()[0]).To(And(
				HaveField("Verb", http.MethodPatch), HaveField("Resource", s.kind.Resource), HaveField("Subresource", ""),
			))
		}, limit)

		It("writes each child once, the finalizer once and the status at most twice", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			for _, resource := range []string{"deployments", "services", "poddisruptionbudgets", s.kind.Resource} {
				Expect(s.operator.Traffic.WritesTo(resource)).To(HaveLen(1), resource)
			}
			Expect(len(s.operator.Traffic.WritesTo(s.kind.Resource + "/status"))).To(BeNumerically("<=", 2))
		}, limit)

		It("makes two instances with disjoint selectors (keycloak#14220)", func(ctx SpecContext) {
			first, second := suite.Deployment(s.create(ctx)), suite.Deployment(s.create(ctx))
			Eventually(ctx, s.Komega(ctx).Get(first)).Should(Succeed())
			Eventually(ctx, s.Komega(ctx).Get(second)).Should(Succeed())
			for _, pair := range [][2]*appsv1.Deployment{{first, second}, {second, first}} {
				selector, err := metav1.LabelSelectorAsSelector(pair[0].Spec.Selector)
				Expect(err).NotTo(HaveOccurred())
				Expect(selector.Matches(labels.Set(pair[0].Spec.Template.Labels))).To(BeTrue(), "it must select its own pods")
				Expect(selector.Matches(labels.Set(pair[1].Spec.Template.Labels))).To(BeFalse(), "it must not select the other's")
			}
		}, limit)
	})
}
