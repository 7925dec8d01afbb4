package sim_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/suite"
)

// tigera/operator#107, cluster-network-operator#668
var _ = Describe("Trouble", func() {
	for _, kind := range kinds {
		Context("of a "+kind.Name, func() {
			s := &stage{kind: kind}
			s.setUp()

			It("with a quota becomes a condition and an event, and passes with it", func(ctx SpecContext) {
				quota := &corev1.ResourceQuota{
					ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "pods"},
					Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
				}
				Expect(s.Client.Create(ctx, quota)).To(Succeed())
				Eventually(ctx, s.Komega(ctx).Object(quota)).Should(HaveField("Status.Hard", HaveKey(corev1.ResourcePods)))
				owner := kind.New(s.Namespace, func(o client.Object) { *kind.Replicas(o) = new(int32(2)) })
				Expect(s.Client.Create(ctx, owner)).To(Succeed())
				Eventually(ctx, s.Komega(ctx).Object(owner)).Should(And(
					suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionTrue, workload.ReasonReplicaFailure),
					suite.HaveCondition(kind.Serving, metav1.ConditionFalse, workload.ReasonReplicasPending),
				))
				events := &eventsv1.EventList{}
				Eventually(ctx, s.Komega(ctx).ObjectList(events, client.InNamespace(s.Namespace))).Should(HaveField("Items", ContainElement(And(
					HaveField("Reason", workload.ReasonReplicaFailure),
					HaveField("Regarding.UID", owner.GetUID()),
				))))

				Expect(s.Client.Delete(ctx, quota)).To(Succeed())
				s.settle(ctx, owner)
				Expect(owner).To(suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionFalse, workload.ReasonAsExpected))
			}, limit)

			It("with nodes names a pod that none of them takes", func(ctx SpecContext) {
				owner := kind.New(s.Namespace, func(o client.Object) {
					*kind.PodTemplate(o) = &workload.PodTemplate{NodeSelector: map[string]string{"no": "where"}}
				})
				Expect(s.Client.Create(ctx, owner)).To(Succeed())
				Eventually(ctx, s.Komega(ctx).Object(owner)).Should(
					suite.HaveCondition(kind.Serving, metav1.ConditionFalse, workload.ReasonUnschedulable))
				s.change(ctx, owner, func() { *kind.PodTemplate(owner) = nil })
				s.settle(ctx, owner)
			}, limit)
		})
	}
})

// controller-runtime#2733, controller-runtime#2831
var _ = Describe("Quiet", func() {
	for _, kind := range kinds {
		Context("of a "+kind.Name, func() {
			s := &stage{kind: kind}
			s.setUp()

			It("costs few writes to reach, none to keep, and none after a restart of the manager", func(ctx SpecContext) {
				owner := s.create(ctx, 1)
				// Service, Deployment, finalizer, and at most two of the status.
				Expect(len(s.operator.Traffic.Writes())).To(BeNumerically("<=", 5), "%v", s.operator.Traffic.Writes())
				mark := s.operator.Traffic.Mark()
				Consistently(ctx, func() []suite.Request { return s.operator.Traffic.WritesSince(mark) }).Should(BeEmpty())
				s.operator.Stop()

				before := suite.Reconciles(kind)
				again := s.Run(ctx)
				Eventually(ctx, func() float64 { return suite.Reconciles(kind) }).Should(BeNumerically(">", before))
				Consistently(ctx, again.Traffic.Writes).Should(BeEmpty())
				s.settle(ctx, owner)
			}, limit)
		})
	}
})
