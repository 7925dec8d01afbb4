package behaviour

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/suite"
)

// refusedImage is one that the policy of a spec refuses.
const refusedImage = "refused.example.com/app:v1"

func refusal(s *stage) {
	Describe("a child that the API server refuses", func() {
		s.setUp()

		DescribeTable("is told, once, and keeps the old one running", func(ctx SpecContext, refused metav1.StatusReason, reason string) {
			owner := s.create(ctx)
			s.settle(ctx, owner)
			image := s.image(owner)
			policy := s.refuse(ctx, refused)

			s.change(ctx, owner, func() { *s.kind.Image(owner) = refusedImage })
			Eventually(ctx, s.Komega(ctx).Object(owner)).Should(And(
				suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionTrue, reason),
				suite.HaveCondition(s.kind.Serving, metav1.ConditionFalse, workload.ReasonSpecNotApplied),
				WithTransform(s.kind.Status, HaveField("ObservedGeneration", owner.GetGeneration())),
			))
			s.told(ctx, owner, corev1.EventTypeWarning, reason)
			version := owner.GetResourceVersion()
			Consistently(ctx, s.Komega(ctx).Object(owner)).Should(HaveField("ResourceVersion", version))
			Expect(s.Komega(ctx).Object(suite.Deployment(owner))()).To(
				HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", image))))

			if refused == metav1.StatusReasonForbidden {
				Expect(s.Client.Delete(ctx, policy)).To(Succeed(), "it may pass without a change of the spec")
			} else {
				s.change(ctx, owner, func() { *s.kind.Image(owner) = "registry.example.com/app:v2" })
			}
			s.settle(ctx, owner)
			Expect(owner).To(suite.HaveCondition(workload.ConditionDegraded, metav1.ConditionFalse, workload.ReasonAsExpected))
			s.told(ctx, owner, corev1.EventTypeNormal, "Recovered")
		},
			Entry("as forbidden", limit, metav1.StatusReasonForbidden, workload.ReasonForbidden),
			Entry("as invalid", limit, metav1.StatusReasonInvalid, workload.ReasonInvalidSpec),
		)
	})

	Describe("a conflict", func() {
		s.setUp()

		It("is retried without a word, whenever it comes (operator-sdk#3968, vault-secrets-operator#230)", func(ctx SpecContext) {
			s.operator.Stop()
			owner := s.create(ctx)
			s.operator = s.Run(ctx, func(setup *suite.Setup) { setup.Wrap = s.contend(ctx, owner) })
			s.settle(ctx, owner)
			Expect(s.Client.Delete(ctx, owner)).To(Succeed())
			s.gone(ctx, owner)
			conflicts := suite.Keep(s.operator.Traffic.Requests(), func(r suite.Request) bool { return r.Code == http.StatusConflict })
			Expect(len(conflicts)).To(BeNumerically(">", 1), "when the finalizer is added, and when it is removed")
			Expect(s.operator.Log.Errors()).To(BeEmpty())
		}, limit)
	})
}

// contend lets somebody else change owner just before every other change of it by the operator arrives.
func (s *stage) contend(ctx context.Context, owner client.Object) func(http.RoundTripper) http.RoundTripper {
	var changes atomic.Int64
	path := "/" + s.kind.Resource + "/" + owner.GetName()
	named := s.kind.Named(owner) // Not owner itself, which is the spec's.
	return func(next http.RoundTripper) http.RoundTripper {
		return suite.RoundTripper(func(request *http.Request) (*http.Response, error) {
			ours := request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, path)
			if ours && changes.Add(1)%2 == 1 {
				defer GinkgoRecover()
				s.poke(context.WithoutCancel(ctx), named.DeepCopyObject().(client.Object))
			}
			return next.RoundTrip(request)
		})
	}
}

// refuse makes the API server refuse Deployments of the spec's namespace with refusedImage, for the reason, and returns what
// to delete for an end of it.
func (s *stage) refuse(ctx context.Context, reason metav1.StatusReason) client.Object {
	GinkgoHelper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	policy.Spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
				},
			},
		}}},
		Validations: []admissionregistrationv1.Validation{{
			Expression: "object.spec.template.spec.containers.all(c, c.image != '" + refusedImage + "')",
			Message:    "the image is refused", Reason: &reason,
		}},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	binding.Spec = admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName:        policy.Name,
		ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace},
		}},
	}
	for _, object := range []client.Object{policy, binding} {
		Expect(s.Client.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(s.Client.Delete(ctx, object))).To(Succeed())
		})
	}
	probe := foreignDeployment(s.kind.New(s.Namespace, func(o client.Object) { o.SetName("probe") }))
	probe.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = refusedImage
	Eventually(ctx, func() error {
		return s.Client.Create(ctx, probe.DeepCopyObject().(client.Object), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("the image is refused")), "the policy must be in force")
	return binding
}
