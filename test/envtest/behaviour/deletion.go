package behaviour

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/fixtures/play"
	"github.com/example-inc/memcached-operator/test/suite"
)

func deletion(s *stage) {
	Describe("deletion", func() {
		s.setUp()

		It("takes the Service first, then the Deployment with its pods, then the budget, and last the resource", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			mark := s.operator.Traffic.Mark()
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			s.gone(ctx, owner)
			deletes := suite.Keep(s.operator.Traffic.WritesSince(mark), func(r suite.Request) bool { return r.Verb == http.MethodDelete })
			Expect(deletes).To(HaveExactElements(
				HaveField("Resource", "services"), HaveField("Resource", "deployments"), HaveField("Resource", "poddisruptionbudgets"),
			))
		}, limit)

		It("waits for the last pod and says so", func(ctx SpecContext) {
			owner := s.create(ctx, s.replicas(1))
			s.settle(ctx, owner)
			pod := s.holdPod(ctx)
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				s.playDeletion(ctx, g, owner)
				g.Expect(s.Komega(ctx).Get(owner)()).To(Succeed())
				g.Expect(owner).To(suite.HaveCondition(workload.ConditionProgressing, metav1.ConditionTrue, workload.ReasonTerminating))
				g.Expect(s.kind.Status(owner).Conditions).To(ContainElement(HaveField("Message", ContainSubstring("the end of pod "+pod.Name))))
			}).Should(Succeed())
			s.change(ctx, pod, func() { pod.Finalizers = nil })
			s.gone(ctx, owner)
		}, limit)

		It("deletes children in the foreground, and none but its own (by UID)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			deploy := suite.Deployment(owner)
			Eventually(ctx, func(g Gomega) {
				g.Expect(s.collect(ctx, suite.Service(owner))).To(Succeed())
				g.Expect(s.Komega(ctx).Get(deploy)()).To(Succeed())
				g.Expect(deploy.DeletionTimestamp).NotTo(BeNil())
			}).Should(Succeed())
			Expect(deploy.Finalizers).To(ConsistOf(metav1.FinalizerDeleteDependents))
		}, limit)

		It("ends when it comes at once after the creation (datashim#341)", func(ctx SpecContext) {
			for range 10 {
				owner := s.create(ctx)
				Expect(s.Client.Delete(ctx, owner)).To(Succeed())
				// The API server may end the resource although the finalizer has just been added to it. What children it then has
				// are the garbage collector's, which the simulated cluster shows.
				s.released(ctx, owner)
			}
		}, limit)

		It("ends when it comes between the finalizer and the first child (datashim#341)", func(ctx SpecContext) {
			owner := s.create(ctx, func(o client.Object) { controllerutil.AddFinalizer(o, s.kind.Finalizer) })
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			s.gone(ctx, owner)
		}, limit)

		It("writes no child from then on (kpack#1820)", func(ctx SpecContext) {
			owner := s.create(ctx, func(o client.Object) { controllerutil.AddFinalizer(o, "example.com/hold") })
			s.settle(ctx, owner)
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				s.playDeletion(ctx, g, owner)
				g.Expect(s.Komega(ctx).Object(owner)()).To(HaveField("Finalizers", ConsistOf("example.com/hold")))
			}).Should(Succeed())
			mark := s.operator.Traffic.Mark()
			s.change(ctx, owner, func() { s.replicas(5)(owner) })
			Consistently(ctx, func() []suite.Request { return s.operator.Traffic.WritesSince(mark) }).Should(BeEmpty())
			for _, child := range suite.Children(owner) {
				Expect(s.Komega(ctx).Get(child)()).To(Satisfy(apierrors.IsNotFound))
			}
			s.change(ctx, owner, func() { owner.SetFinalizers(nil) })
		}, limit)

		It("never adds a finalizer to what is being deleted (image-automation-controller#564)", func(ctx SpecContext) {
			s.operator.Stop()
			owner := s.create(ctx, func(o client.Object) { controllerutil.AddFinalizer(o, "example.com/hold") })
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			before := suite.Reconciles(s.kind)
			s.operator = s.Run(ctx)
			Eventually(ctx, func() float64 { return suite.Reconciles(s.kind) }).Should(BeNumerically(">", before))
			Consistently(ctx, s.operator.Traffic.Writes).Should(BeEmpty())
			Expect(s.operator.Log.Errors()).To(BeEmpty())
			s.change(ctx, owner, func() { owner.SetFinalizers(nil) })
		}, limit)

		It("that was asked for while the operator was away ends once it is back", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			s.operator.Stop()
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			Expect(s.Komega(ctx).Object(owner)()).To(HaveField("DeletionTimestamp", Not(BeNil())), "its finalizer holds it")
			s.operator = s.Run(ctx)
			s.gone(ctx, owner)
		}, limit)

		DescribeTable("leaves the children as they are", func(ctx SpecContext, policy workload.DeletionPolicy, options ...client.DeleteOption) {
			owner := s.create(ctx, func(o client.Object) { *s.kind.DeletionPolicy(o) = policy })
			s.settle(ctx, owner)
			children := s.owned(ctx, owner)
			Expect(s.Client.Delete(ctx, owner, options...)).To(Succeed())
			s.orphaned(ctx, owner)
			for _, child := range children {
				uid, generation := child.GetUID(), child.GetGeneration()
				s.read(ctx, child)
				Expect(child.GetUID()).To(Equal(uid))
				Expect(child.GetGeneration()).To(Equal(generation))
				Expect(child.GetDeletionTimestamp()).To(BeNil())
				Expect(child.GetOwnerReferences()).To(BeEmpty())
				Expect(child.GetManagedFields()).NotTo(ContainElement(HaveField("Manager", "memcached-operator")))
			}
		},
			Entry("by the policy Orphan", limit, workload.DeletionPolicyOrphan),
			Entry("by kubectl delete --cascade=orphan", limit, workload.DeletionPolicyDelete,
				client.PropagationPolicy(metav1.DeletePropagationOrphan)),
		)
	})
}

// playDeletion does what the garbage collector does for the children of owner.
func (s *stage) playDeletion(ctx context.Context, g Gomega, owner client.Object) {
	g.Expect(play.GarbageCollector(ctx, s.Client, client.ObjectKeyFromObject(owner))).To(Succeed())
	for _, child := range []client.Object{suite.Service(owner), suite.Budget(owner)} {
		g.Expect(s.collect(ctx, child)).To(Succeed())
	}
}

// released plays the garbage collector until owner is gone.
func (s *stage) released(ctx context.Context, owner client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		s.playDeletion(ctx, g, owner)
		g.Expect(s.Komega(ctx).Get(s.kind.Named(owner))()).To(Satisfy(apierrors.IsNotFound))
	}).Should(Succeed())
}

// gone plays the garbage collector until owner is gone, and expects its own children to be gone by then.
func (s *stage) gone(ctx context.Context, owner client.Object) {
	GinkgoHelper()
	s.released(ctx, owner)
	for _, child := range suite.Children(owner) {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(child), child); !apierrors.IsNotFound(err) {
			Expect(err).NotTo(HaveOccurred())
			Expect(metav1.IsControlledBy(child, owner)).To(BeFalse(), "%T", child)
		}
	}
}

// orphaned plays the garbage collector's part in an orphaning deletion, until owner is gone.
func (s *stage) orphaned(ctx context.Context, owner client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		left := s.kind.Named(owner)
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(owner), left)
		if err == nil && len(left.GetFinalizers()) == 1 && controllerutil.RemoveFinalizer(left, metav1.FinalizerOrphanDependents) {
			g.Expect(s.Client.Update(ctx, left)).To(Succeed())
		}
		g.Expect(err).To(Satisfy(apierrors.IsNotFound))
	}).Should(Succeed())
}

// holdPod keeps the only pod of the namespace from going.
func (s *stage) holdPod(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace))).To(Succeed())
	Expect(pods.Items).To(HaveLen(1))
	pod := &pods.Items[0]
	s.change(ctx, pod, func() { pod.Finalizers = []string{"example.com/hold"} })
	return pod
}
