package behaviour

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/test/suite"
)

func drift(s *stage) {
	Describe("drift", func() {
		s.setUp()

		DescribeTable("is corrected in the Deployment", func(ctx SpecContext, spoil func(*appsv1.Deployment)) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			deploy := suite.Deployment(owner)
			s.read(ctx, deploy)
			right := deploy.DeepCopy()
			s.change(ctx, deploy, func() { spoil(deploy) })
			Expect(deploy.Generation+int64(len(deploy.Labels))+int64(len(deploy.OwnerReferences))).NotTo(
				Equal(right.Generation+int64(len(right.Labels))+int64(len(right.OwnerReferences))), "the spec must spoil something")
			Eventually(ctx, s.Komega(ctx).Object(deploy)).Should(And(
				HaveField("Spec", right.Spec), HaveField("Labels", right.Labels),
				HaveField("OwnerReferences", right.OwnerReferences), HaveField("UID", right.UID),
			))
		},
			Entry("image", limit, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "evil:latest" }),
			Entry("replicas", limit, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(9)) }),
			Entry("a label removed", limit, func(d *appsv1.Deployment) { delete(d.Labels, "app.kubernetes.io/managed-by") }),
			Entry("a pod label removed", limit, func(d *appsv1.Deployment) {
				delete(d.Spec.Template.Labels, "app.kubernetes.io/managed-by")
			}),
			Entry("the owner reference removed", limit, func(d *appsv1.Deployment) { d.OwnerReferences = nil }),
			Entry("the port", limit, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort++ }),
			Entry("a second kind of probe", limit, func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].ReadinessProbe.ProbeHandler = corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(1), Scheme: corev1.URISchemeHTTP},
				}
			}),
			Entry("the security context weakened", limit, func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
			}),
		)

		It("is corrected in the Service", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			service := suite.Service(owner)
			s.read(ctx, service)
			right := service.DeepCopy()
			s.change(ctx, service, func() {
				service.Spec.Selector = map[string]string{"app": "another"}
				service.Spec.Ports[0].Port = 1
			})
			Eventually(ctx, s.Komega(ctx).Object(service)).Should(And(
				HaveField("Spec.Selector", right.Spec.Selector),
				HaveField("Spec.Ports", ConsistOf(HaveField("Port", right.Spec.Ports[0].Port))),
			))
		}, limit)

		It("is corrected in the disruption budget", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			budget := suite.Budget(owner)
			s.change(ctx, budget, func() { budget.Spec.MaxUnavailable = new(intstr.FromInt32(3)) })
			Eventually(ctx, s.Komega(ctx).Object(budget)).Should(HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(1)))))
		}, limit)

		DescribeTable("is corrected where a child was deleted", func(ctx SpecContext, child client.Object) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			child = child.DeepCopyObject().(client.Object)
			child.SetNamespace(owner.GetNamespace())
			child.SetName(owner.GetName())
			s.read(ctx, child)
			uid := child.GetUID()
			Expect(s.Client.Delete(ctx, child, client.PropagationPolicy("Background"))).To(Succeed())
			Eventually(ctx, s.Komega(ctx).Object(child)).Should(HaveField("UID", Not(Equal(uid))))
		},
			Entry("Deployment", limit, &appsv1.Deployment{}),
			Entry("Service", limit, &corev1.Service{}),
			Entry("PodDisruptionBudget", limit, &policyv1.PodDisruptionBudget{}),
		)

		It("is none of what others add", func(ctx SpecContext) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			deploy := suite.Deployment(owner)
			mark := s.operator.Traffic.Mark()
			s.change(ctx, deploy, func() {
				deploy.Labels["team"] = "blue"
				deploy.Annotations = map[string]string{"example.com/note": "by hand"}
				deploy.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
			})
			s.settle(ctx, owner)
			Consistently(ctx, func() []suite.Request {
				return suite.WritesTo("deployments", s.operator.Traffic.WritesSince(mark))
			}).Should(BeEmpty())
			Expect(s.Komega(ctx).Object(deploy)()).To(And(
				HaveField("Labels", HaveKeyWithValue("team", "blue")),
				HaveField("Annotations", HaveKey("example.com/note")),
				HaveField("Spec.Template.Annotations", HaveKey("kubectl.kubernetes.io/restartedAt")),
			))
		}, limit)
	})
}
