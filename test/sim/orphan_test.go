package sim_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/test/suite"
)

var _ = Describe("Orphaning", func() {
	for _, kind := range kinds {
		Context("the children of a "+kind.Name, func() {
			s := &stage{kind: kind}
			s.setUp()

			orphan := func(o client.Object) { *kind.DeletionPolicy(o) = workload.DeletionPolicyOrphan }

			It("leaves everything running, owned by nobody", func(ctx SpecContext) {
				owner := s.create(ctx, 2, orphan)
				before := uids(s.pods(ctx, owner))
				Expect(s.Client.Delete(ctx, owner)).To(Succeed())
				s.gone(ctx, owner)
				s.givenUp(ctx, owner)
				Consistently(ctx, func() []string { return uids(s.pods(ctx, owner)) }).Should(Equal(before))
			}, limit)

			It("leaves them to a later resource of the name, which restarts no pod", func(ctx SpecContext) {
				first := s.create(ctx, 2, orphan)
				before := uids(s.pods(ctx, first))
				Expect(s.Client.Delete(ctx, first)).To(Succeed())
				s.gone(ctx, first)

				second := s.create(ctx, 2, func(o client.Object) { o.SetGenerateName(""); o.SetName(first.GetName()) })
				Expect(uids(s.pods(ctx, second))).To(Equal(before))
				for _, child := range suite.Children(second) {
					Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
					Expect(metav1.IsControlledBy(child, second)).To(BeTrue(), "%T", child)
				}
			}, limit)

			It("is what kubectl delete --cascade=orphan asks for", func(ctx SpecContext) {
				owner := s.create(ctx, 2)
				before := uids(s.pods(ctx, owner))
				Expect(s.Client.Delete(ctx, owner, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
				s.gone(ctx, owner)
				s.givenUp(ctx, owner)
				Consistently(ctx, func() []string { return uids(s.pods(ctx, owner)) }).Should(Equal(before))
			}, limit)
		})
	}
})

// givenUp checks that the children are there, without an owner and without a field of the operator's.
func (s *stage) givenUp(ctx context.Context, owner client.Object) {
	GinkgoHelper()
	for _, child := range suite.Children(owner) {
		Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
		Expect(child.GetOwnerReferences()).To(BeEmpty(), "%T", child)
		Expect(child.GetDeletionTimestamp()).To(BeNil(), "%T", child)
		Expect(child.GetManagedFields()).NotTo(ContainElement(HaveField("Manager", string(children.FieldOwner))), "%T", child)
	}
}
