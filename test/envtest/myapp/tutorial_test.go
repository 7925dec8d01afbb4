package myapp_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/test/fixtures/play"
	"github.com/example-inc/memcached-operator/test/suite"
)

const limit = SpecTimeout(90 * time.Second)

// What the well-known tutorial tests, with its own input.
var _ = Describe("The tutorial's MyApp", func() {
	var env *suite.Env
	BeforeEach(func(ctx SpecContext) {
		env = on.Env(ctx)
		env.Run(ctx)
	}, NodeTimeout(time.Minute))

	It("nginx:latest with 3 replicas becomes a Deployment of 3 replicas and runs", func(ctx SpecContext) {
		app := &appv1alpha1.MyApp{
			ObjectMeta: metav1.ObjectMeta{Name: "test-app", Namespace: env.Namespace},
			Spec:       appv1alpha1.MyAppSpec{Image: "nginx:latest", Replicas: new(int32(3))},
		}
		Expect(env.Client.Create(ctx, app)).To(Succeed())
		deploy := suite.Deployment(app)
		Eventually(ctx, env.Komega(ctx).Get(deploy)).Should(Succeed())
		Expect(deploy.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
		Expect(deploy.Spec.Template.Spec.Containers).To(ConsistOf(HaveField("Image", "nginx:latest")))

		Eventually(ctx, func(g Gomega) {
			g.Expect(play.Deployment(ctx, env.Client, client.ObjectKeyFromObject(app), play.Options{})).To(Succeed())
			g.Expect(env.Komega(ctx).Get(app)()).To(Succeed())
			g.Expect(app.Status.Phase).To(Equal(appv1alpha1.PhaseRunning))
			g.Expect(app.Status.ReadyReplicas).To(BeEquivalentTo(3))
		}).Should(Succeed())
	}, limit)

	It("loses in its Deployment the variables that it loses in its spec (kubectl#1750)", func(ctx SpecContext) {
		app := &appv1alpha1.MyApp{
			ObjectMeta: metav1.ObjectMeta{Name: "test-app", Namespace: env.Namespace},
			Spec:       appv1alpha1.MyAppSpec{Image: "nginx:latest", Env: map[string]string{"KEPT": "1", "DROPPED": "2"}},
		}
		Expect(env.Client.Create(ctx, app)).To(Succeed())
		deploy := suite.Deployment(app)
		names := func(names ...any) types.GomegaMatcher {
			var each []any
			for _, name := range names {
				each = append(each, HaveField("Name", name))
			}
			return HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Env", HaveExactElements(each...))))
		}
		Eventually(ctx, env.Komega(ctx).Object(deploy)).Should(names("DROPPED", "KEPT"))
		Eventually(ctx, env.Komega(ctx).Update(app, func() { delete(app.Spec.Env, "DROPPED") })).Should(Succeed())
		Eventually(ctx, env.Komega(ctx).Object(deploy)).Should(names("KEPT"))
	}, limit)

	It("has a phase that follows from its conditions", func(ctx SpecContext) {
		app := &appv1alpha1.MyApp{
			ObjectMeta: metav1.ObjectMeta{Name: "test-app", Namespace: env.Namespace},
			Spec:       appv1alpha1.MyAppSpec{Image: "nginx:latest"},
		}
		Expect(env.Client.Create(ctx, app)).To(Succeed())
		key := client.ObjectKeyFromObject(app)
		becomes := func(options play.Options, phase appv1alpha1.Phase) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(play.Deployment(ctx, env.Client, key, options)).To(Succeed())
				g.Expect(env.Komega(ctx).Get(app)()).To(Succeed())
				g.Expect(app.Status.Phase).To(Equal(phase))
			}).Should(Succeed())
		}
		Eventually(ctx, env.Komega(ctx).Get(suite.Deployment(app))).Should(Succeed())
		becomes(play.Options{Ready: new(int32(0))}, appv1alpha1.PhasePending)
		becomes(play.Options{Ready: new(int32(0)), Waiting: "ImagePullBackOff"}, appv1alpha1.PhaseFailed)
		becomes(play.Options{}, appv1alpha1.PhaseRunning)
		Expect(env.Client.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, env.Komega(ctx).Object(app)).Should(HaveField("Status.Phase", appv1alpha1.PhaseTerminating))
	}, limit)
})
