package schema

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/fixtures"
)

// stored is what the API server makes of object: created under a name of its own, with defaults, and read back.
func stored[T client.Object](ctx SpecContext, object T) T {
	GinkgoHelper()
	object.SetNamespace(namespace)
	object.SetName("")
	object.SetGenerateName("a-")
	Expect(k8s.Create(ctx, object)).To(Succeed())
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

var _ = Describe("What is stored", func() {
	// opensearch-k8s-operator#1591, kamaji#366: a size of 0 became the default.
	It("keeps 0 apart from unset", func(ctx SpecContext) {
		zero := stored(ctx, fixtures.Memcached(func(mc *cachev1.Memcached) { mc.Spec.Size = new(int32(0)) }))
		Expect(zero.Spec.Size).To(HaveValue(BeEquivalentTo(0)))
		Expect(k8s.Update(ctx, zero)).To(Succeed())
		Expect(zero.Spec.Size).To(HaveValue(BeEquivalentTo(0)), "after an update by a typed client")

		unset := stored(ctx, fixtures.Memcached(func(mc *cachev1.Memcached) { mc.Spec.Size = nil }))
		Expect(unset.Spec.Size).To(HaveValue(BeEquivalentTo(1)))
	})

	It("has the defaults of the schema", func(ctx SpecContext) {
		app := stored(ctx, fixtures.MyApp(func(app *appv1alpha1.MyApp) { app.Spec = appv1alpha1.MyAppSpec{Image: "nginx:latest"} }))
		Expect(app.Spec).To(Equal(appv1alpha1.MyAppSpec{
			Image:          "nginx:latest",
			Replicas:       new(int32(1)),
			Port:           new(int32(8080)),
			DeletionPolicy: workload.DeletionPolicyDelete,
		}))
		mc := stored(ctx, &cachev1.Memcached{})
		Expect(mc.Spec).To(Equal(cachev1.MemcachedSpec{Size: new(int32(1)), DeletionPolicy: workload.DeletionPolicyDelete}))
	})

	DescribeTable("does not change into a Memcached with", func(ctx SpecContext, patch, field, rule string) {
		mc := stored(ctx, fixtures.Memcached())
		Expect(k8s.Patch(ctx, mc, merge(patch), client.DryRunAll)).To(beRefused(field, rule))
	},
		Entry("a negative size", `{"spec":{"size":-1}}`, "spec.size", "spec.size in body should be greater than or equal to 0"),
		Entry("memory above the limit that it has", `{"spec":{"maxMemory":"65Mi"}}`, "spec.maxMemory", "maxMemory: must not be above resources.limits.memory"),
		Entry("a limit below its request", `{"spec":{"resources":{"limits":{"memory":"32Mi"},"requests":{"memory":"48Mi"}}}}`, "spec.resources.requests", requestRule),
		Entry("items above half of its memory", `{"spec":{"maxItemSize":"32Mi"}}`, "spec.maxItemSize", halfRule),
		Entry("an owned argument", `{"spec":{"extraArgs":["-p1"]}}`, "spec.extraArgs", shortRule),
		Entry("a bad image", `{"spec":{"image":"a b"}}`, "spec.image", imageRule),
	)

	DescribeTable("does not change into a MyApp with", func(ctx SpecContext, patch, field, rule string) {
		app := stored(ctx, fixtures.MyApp())
		Expect(k8s.Patch(ctx, app, merge(patch), client.DryRunAll)).To(beRefused(field, rule))
	},
		Entry("no replicas", `{"spec":{"replicas":0}}`, "spec.replicas", "spec.replicas in body should be greater than or equal to 1"),
		Entry("no image", `{"spec":{"image":null}}`, "spec.image", "Required value"),
		Entry("a bad variable", `{"spec":{"env":{"1":"a"}}}`, "spec.env", envRule),
	)

	DescribeTable("scales", func(ctx SpecContext, of func() client.Object, replicas int, problem string) {
		object := stored(ctx, of())
		scale := &autoscalingv1.Scale{}
		Expect(k8s.SubResource("scale").Get(ctx, object, scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(3))
		scale.Spec.Replicas = int32(replicas) //nolint:gosec // A small number.
		err := k8s.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(scale))
		if problem != "" {
			Expect(err).To(MatchError(ContainSubstring(problem)))
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.SubResource("scale").Get(ctx, object, scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(replicas))
	},
		Entry("a Memcached to 0", func() client.Object { return fixtures.Memcached() }, 0, ""),
		Entry("a Memcached to 7", func() client.Object { return fixtures.Memcached() }, 7, ""),
		Entry("a MyApp to 100", func() client.Object { return fixtures.MyApp() }, 100, ""),
		Entry("no MyApp to 0", func() client.Object { return fixtures.MyApp() }, 0, "spec.replicas in body should be greater than or equal to 1"),
		Entry("no MyApp to 101", func() client.Object { return fixtures.MyApp() }, 101, "spec.replicas in body should be less than or equal to 100"),
	)

	It("takes a status only as a whole and with valid conditions", func(ctx SpecContext) {
		app := stored(ctx, fixtures.MyApp())
		condition := metav1.Condition{Type: appv1alpha1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now()}

		app.Status.Conditions = []metav1.Condition{condition}
		Expect(k8s.Status().Update(ctx, app)).To(beRefused("status.conditions[0].reason", "conditions[0].reason in body should be at least 1 chars long"))

		condition.Reason = workload.ReasonReplicasReady
		app.Status = appv1alpha1.MyAppStatus{Conditions: []metav1.Condition{condition}, Phase: "Sleeping"}
		Expect(k8s.Status().Update(ctx, app)).To(beRefused("status.phase", `supported values: "Pending", "Running", "Failed", "Terminating"`))

		app.Status.Phase = appv1alpha1.PhaseRunning
		Expect(k8s.Status().Update(ctx, app)).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
		Expect(app.Status.Phase).To(Equal(appv1alpha1.PhaseRunning))
	})

	It("does not take a status from a spec's writer", func(ctx SpecContext) {
		mc := stored(ctx, fixtures.Memcached())
		mc.Status.Nodes = []string{"a"}
		Expect(k8s.Update(ctx, mc)).To(Succeed())
		Expect(mc.Status.Nodes).To(BeEmpty())
	})
})
