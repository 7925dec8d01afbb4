package memcached_test

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/test/fixtures/play"
	"github.com/example-inc/memcached-operator/test/suite"
)

// operator-sdk#6166, operator-sdk#4679
var _ = Describe("status.nodes", func() {
	var env *suite.Env
	BeforeEach(func(ctx SpecContext) {
		env = on.Env(ctx)
		env.Run(ctx)
	}, NodeTimeout(time.Minute))

	It("are the names of the ready pods of its own, sorted", func(ctx SpecContext) {
		mc := suite.Memcached.New(env.Namespace).(*cachev1.Memcached)
		Expect(env.Client.Create(ctx, mc)).To(Succeed())
		stranger := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}}}
		stranger.Name, stranger.Namespace = mc.Name+"-stranger", env.Namespace
		stranger.Labels = map[string]string{"app": "memcached", "memcached_cr": mc.Name, "app.kubernetes.io/managed-by": "memcached-operator"}
		stranger.Spec = restricted(stranger.Spec)
		Expect(env.Client.Create(ctx, stranger)).To(Succeed())
		stranger.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		Expect(env.Client.Status().Update(ctx, stranger)).To(Succeed())

		follow := func(ready int32) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(play.Deployment(ctx, env.Client, client.ObjectKeyFromObject(mc), play.Options{Ready: new(ready)})).To(Succeed())
				g.Expect(env.Komega(ctx).Get(mc)()).To(Succeed())
				g.Expect(mc.Status.ReadyReplicas).To(Equal(ready))
				g.Expect(mc.Status.Nodes).To(HaveLen(int(ready)))
			}).Should(Succeed())
			Expect(slices.IsSorted(mc.Status.Nodes)).To(BeTrue())
			Expect(mc.Status.Nodes).NotTo(ContainElement(stranger.Name))
			for _, name := range mc.Status.Nodes {
				pod := &corev1.Pod{}
				Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: env.Namespace, Name: name}, pod)).To(Succeed())
				Expect(pod.Status.Conditions).To(ContainElement(And(
					HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))
			}
		}
		follow(3)
		follow(1)
		Eventually(ctx, env.Komega(ctx).Update(mc, func() { mc.Spec.Size = new(int32(5)) })).Should(Succeed())
		follow(5)
	}, SpecTimeout(90*time.Second))
})

// restricted brings a pod under the restricted Pod Security Standard.
func restricted(spec corev1.PodSpec) corev1.PodSpec {
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	for i := range spec.Containers {
		spec.Containers[i].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	return spec
}
