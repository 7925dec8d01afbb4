package behaviour

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/fixtures/play"
	"github.com/example-inc/memcached-operator/test/suite"
)

func status(s *stage) {
	Describe("status", func() {
		s.setUp()

		It("speaks of the latest generation, in itself and in each condition (kubectl#962)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			for _, n := range []int32{2, 4} {
				s.change(ctx, owner, func() { s.replicas(n)(owner) })
				s.settle(ctx, owner)
				status := s.kind.Status(owner)
				Expect(owner.GetGeneration()).To(BeNumerically(">", 1))
				Expect(status.ObservedGeneration).To(Equal(owner.GetGeneration()))
				Expect(status.Conditions).To(HaveLen(3))
				Expect(status.Conditions).To(HaveEach(HaveField("ObservedGeneration", owner.GetGeneration())))
			}
		}, limit)

		It("does not claim to serve before the Deployment's controller has seen the spec", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			s.change(ctx, owner, func() { *s.kind.Image(owner) = "registry.example.com/other:v2" })
			Eventually(ctx, s.Komega(ctx).Object(owner)).WithTimeout(15 * time.Second).Should(And(
				WithTransform(s.kind.Status, HaveField("ObservedGeneration", owner.GetGeneration())),
				suite.HaveCondition(s.kind.Serving, metav1.ConditionUnknown, workload.ReasonRolloutPending),
			))
			s.settle(ctx, owner)
		}, limit)

		It("counts neither old pods nor pods that are not ready", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			s.change(ctx, owner, func() { *s.kind.Image(owner) = "registry.example.com/other:v2" })
			s.rollOut(ctx, owner, play.Options{Ready: new(int32(2))},
				suite.HaveCondition(s.kind.Serving, metav1.ConditionFalse, workload.ReasonReplicasPending),
				suite.HaveCondition(workload.ConditionProgressing, metav1.ConditionTrue, workload.ReasonRollingOut),
				WithTransform(s.kind.Status, HaveField("ReadyReplicas", BeEquivalentTo(2))),
			)
			s.settle(ctx, owner)
		}, limit)

		It("takes back that it serves when a reconfiguration fails (infra-operator 67e4bec)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			s.change(ctx, owner, func() { *s.kind.Image(owner) = "registry.example.com/missing:v2" })
			s.rollOut(ctx, owner, play.Options{Ready: new(int32(0)), Waiting: "ImagePullBackOff"},
				suite.HaveCondition(s.kind.Serving, metav1.ConditionFalse, workload.ReasonReplicasPending),
				suite.HaveCondition(workload.ConditionProgressing, metav1.ConditionFalse, workload.ReasonRolloutStopped),
				suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionTrue, workload.ReasonImagePullBackOff),
			)
			s.change(ctx, owner, func() { *s.kind.Image(owner) = "registry.example.com/found:v3" })
			s.settle(ctx, owner)
			Expect(owner).To(suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionFalse, workload.ReasonAsExpected))
		}, limit)

		DescribeTable("names the pod that cannot run, and tells it by an event (tigera/operator#107)",
			func(ctx SpecContext, waiting, reason string) {
				owner := s.create(ctx, s.replicas(1))
				s.rollOut(ctx, owner, play.Options{Ready: new(int32(0)), Waiting: waiting},
					suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionTrue, reason))
				pods := &corev1.PodList{}
				Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace))).To(Succeed())
				Expect(pods.Items).To(HaveLen(1))
				Expect(s.kind.Status(owner).Conditions).To(ContainElement(HaveField("Message", ContainSubstring(pods.Items[0].Name))))
				s.told(ctx, owner, corev1.EventTypeWarning, reason)
				s.settle(ctx, owner)
				s.told(ctx, owner, corev1.EventTypeNormal, "Recovered")
			},
			Entry("an image that is not there", limit, "ErrImagePull", workload.ReasonImagePullBackOff),
			Entry("a container that keeps ending", limit, "CrashLoopBackOff", workload.ReasonCrashLoopBackOff),
			Entry("a container that cannot be made", limit, "CreateContainerConfigError", workload.ReasonContainerCannotStart),
		)

		DescribeTable("tells that the rollout does not move (tigera/operator#107)",
			func(ctx SpecContext, reason string, condition appsv1.DeploymentCondition) {
				owner := s.create(ctx)
				condition.Message = "as the controller says it"
				s.rollOut(ctx, owner,
					play.Options{Ready: new(int32(1)), Conditions: []appsv1.DeploymentCondition{condition}},
					suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionTrue, reason))
				Expect(s.kind.Status(owner).Conditions).To(ContainElement(HaveField("Message", ContainSubstring(condition.Message))))
				s.told(ctx, owner, corev1.EventTypeWarning, reason)
				s.settle(ctx, owner)
			},
			Entry("within its deadline", limit, workload.ReasonProgressDeadlineExceeded, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
			}),
			Entry("because pods are forbidden", limit, workload.ReasonReplicaFailure, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
			}),
		)

		It("is written through its subresource alone (operator-sdk#6166, #4679)", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			Expect(s.operator.Traffic.WritesTo(s.kind.Resource + "/status")).NotTo(BeEmpty())
			Expect(s.operator.Traffic.WritesTo(s.kind.Resource)).To(HaveLen(1), "the finalizer")
			Expect(owner.GetGeneration()).To(BeEquivalentTo(1), "nothing of the operator's may change the spec")
		}, limit)
	})
}

// rollOut plays a rollout until owner, which is brought up to date, matches all of want.
func (s *stage) rollOut(ctx context.Context, owner client.Object, options play.Options, want ...types.GomegaMatcher) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(play.Deployment(ctx, s.Client, client.ObjectKeyFromObject(owner), options)).To(Succeed())
		g.Expect(s.Komega(ctx).Get(owner)()).To(Succeed())
		g.Expect(owner).To(And(want...))
		g.Expect(s.kind.Status(owner).ObservedGeneration).To(Equal(owner.GetGeneration()))
	}).Should(Succeed())
}

// told waits for an event about owner.
func (s *stage) told(ctx context.Context, owner client.Object, kind, reason string) {
	GinkgoHelper()
	events := &eventsv1.EventList{}
	Eventually(ctx, s.Komega(ctx).ObjectList(events, client.InNamespace(s.Namespace))).Should(
		HaveField("Items", ContainElement(And(
			HaveField("Type", kind), HaveField("Reason", reason),
			HaveField("Regarding.UID", owner.GetUID()), HaveField("Regarding.Name", owner.GetName()),
			HaveField("Regarding.Kind", s.kind.Name),
		))))
}
