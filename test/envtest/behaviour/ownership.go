package behaviour

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/suite"
)

// theirs are the labels of somebody else's objects.
var theirs = map[string]string{"app": "theirs"}

func ownership(s *stage) {
	Describe("an object of somebody else (mcp-lifecycle-operator#85, websphere-liberty-operator#179)", func() {
		s.setUp()

		DescribeTable("is left as it is, and told", func(ctx SpecContext, of func(client.Object) client.Object, owned bool) {
			owner := s.kind.New(s.Namespace, func(o client.Object) { o.SetName("contested") })
			foreign := of(owner)
			if owned {
				foreign.SetOwnerReferences(s.somebody(ctx))
			}
			Expect(s.Client.Create(ctx, foreign)).To(Succeed())
			before := foreign.DeepCopyObject()

			Expect(s.Client.Create(ctx, owner)).To(Succeed())
			Eventually(ctx, s.Komega(ctx).Object(owner)).Should(And(
				suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionTrue, workload.ReasonResourceConflict),
				suite.HaveCondition(s.kind.Serving, metav1.ConditionFalse, workload.ReasonSpecNotApplied),
			))
			s.told(ctx, owner, corev1.EventTypeWarning, workload.ReasonResourceConflict)
			s.idle(ctx)

			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			s.gone(ctx, owner)
			s.read(ctx, foreign)
			Expect(foreign).To(Equal(before), "neither the conflict nor the deletion may change it")
		},
			Entry("a Deployment of nobody", limit, foreignDeployment, false),
			Entry("a Deployment of another", limit, foreignDeployment, true),
			Entry("a Service of nobody", limit, foreignService, false),
			Entry("a Service of another", limit, foreignService, true),
			Entry("a PodDisruptionBudget of nobody", limit, foreignBudget, false),
			Entry("a PodDisruptionBudget of another", limit, foreignBudget, true),
		)

		It("is no trouble any more once its name is free", func(ctx SpecContext) {
			owner := s.kind.New(s.Namespace, func(o client.Object) { o.SetName("contested") })
			foreign := []client.Object{foreignDeployment(owner), foreignService(owner), foreignBudget(owner)}
			for _, object := range foreign {
				Expect(s.Client.Create(ctx, object)).To(Succeed())
			}
			Expect(s.Client.Create(ctx, owner)).To(Succeed())
			Eventually(ctx, s.Komega(ctx).Object(owner)).Should(
				suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionTrue, workload.ReasonResourceConflict))

			for _, object := range foreign {
				Expect(s.Client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
			}
			s.owned(ctx, owner)
			s.settle(ctx, owner)
			Expect(owner).To(suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionFalse, workload.ReasonAsExpected))
			s.told(ctx, owner, corev1.EventTypeNormal, "Recovered")
		}, limit)

		It("keeps no other child from being made", func(ctx SpecContext) {
			owner := s.kind.New(s.Namespace, func(o client.Object) { o.SetName("contested") })
			Expect(s.Client.Create(ctx, foreignService(owner))).To(Succeed())
			Expect(s.Client.Create(ctx, owner)).To(Succeed())
			Eventually(ctx, s.Komega(ctx).Object(suite.Deployment(owner))).Should(
				HaveField("OwnerReferences", ConsistOf(HaveField("UID", owner.GetUID()))))
		}, limit)
	})
}

// somebody is the controller reference to an object that is not the operator's.
func (s *stage) somebody(ctx context.Context) []metav1.OwnerReference {
	GinkgoHelper()
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "other-", Namespace: s.Namespace}}
	Expect(s.Client.Create(ctx, other)).To(Succeed())
	return []metav1.OwnerReference{*metav1.NewControllerRef(other, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
}

// idle expects that the operator asks nothing of the API server for a while, not even reads.
func (s *stage) idle(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		mark := s.operator.Traffic.Mark()
		g.Consistently(ctx, s.operator.Traffic.Mark).Should(Equal(mark))
	}).WithTimeout(15 * time.Second).Should(Succeed())
}

func foreignDeployment(owner client.Object) client.Object {
	deploy := suite.Deployment(owner)
	deploy.Labels = theirs
	deploy.Spec = appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: theirs},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: theirs},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs:v1"}}},
		},
	}
	return deploy
}

func foreignService(owner client.Object) client.Object {
	service := suite.Service(owner)
	service.Spec = corev1.ServiceSpec{Selector: theirs, Ports: []corev1.ServicePort{{Port: 80}}}
	return service
}

func foreignBudget(owner client.Object) client.Object {
	budget := suite.Budget(owner)
	budget.Spec = policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)),
		Selector:     &metav1.LabelSelector{MatchLabels: theirs},
	}
	return budget
}
