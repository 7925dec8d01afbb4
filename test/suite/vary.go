package suite

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/api/workload"
)

// Vary gives the fields of object valid values that seed chooses, in the many forms that the API server brings into one:
// empty structs, quantities in other units, settings that are their own default.
func (k *Kind) Vary(object client.Object, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // A seed makes it repeatable.
	*k.Replicas(object) = new(int32(2 + r.IntN(3)))
	*k.Image(object) = pick(r, "memcached", "memcached:1.6", "localhost:5000/a/b_c:V1", "example.com/app@sha256:"+fmt.Sprintf("%064d", seed))
	*k.PodTemplate(object) = pick(r, nil, &workload.PodTemplate{}, podTemplate(r))
	k.vary(object, r)
}

func varyMemcached(mc *cachev1.Memcached, r *rand.Rand) {
	mc.Spec.Resources = pick(r, nil, &corev1.ResourceRequirements{}, resources(r))
	mc.Spec.MaxConnections = pick(r, nil, new(int32(1)), new(int32(4096)))
	mc.Spec.Threads = pick(r, nil, new(int32(1)), new(int32(64)))
	mc.Spec.MaxItemSize = pick(r, nil, new(resource.MustParse("1024")), new(resource.MustParse("1Mi")))
	mc.Spec.MaxMemory = pick(r, nil, new(resource.MustParse("50331648")), new(resource.MustParse("0.0625Gi")))
	mc.Spec.ExtraArgs = pick(r, nil, []string{}, []string{"-v"}, []string{"-o", "modern", "-v"})
}

func varyMyApp(app *appv1alpha1.MyApp, r *rand.Rand) {
	app.Spec.Resources = pick(r, nil, &corev1.ResourceRequirements{}, resources(r))
	app.Spec.Port = pick(r, nil, new(int32(1)), new(int32(65535)))
	app.Spec.Env = pick(r, nil, map[string]string{}, map[string]string{"EMPTY": ""}, map[string]string{"B": "2", "A": "1", "c.d-e": "$(A)"})
}

func resources(r *rand.Rand) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{
		Requests: pick(r, nil, corev1.ResourceList{}, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.25"), corev1.ResourceMemory: resource.MustParse("33554432")}),
		Limits:   pick(r, nil, corev1.ResourceList{}, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m"), corev1.ResourceMemory: resource.MustParse("0.125Gi")}),
	}
}

func podTemplate(r *rand.Rand) *workload.PodTemplate {
	return &workload.PodTemplate{
		Labels:       pick(r, nil, map[string]string{}, map[string]string{"example.com/team": "cache"}),
		Annotations:  pick(r, nil, map[string]string{}, map[string]string{"example.com/note": ""}),
		NodeSelector: pick(r, nil, map[string]string{}, map[string]string{"kubernetes.io/os": "linux"}),
		Tolerations: pick(r, nil, []corev1.Toleration{}, []corev1.Toleration{
			{Operator: corev1.TolerationOpExists},
			{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(0))},
		}),
		Affinity: pick(r, nil, &corev1.Affinity{}, &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}, &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}},
			}}},
		}),
		TopologySpreadConstraints: pick(r, nil, []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
		}}),
		ImagePullSecrets:   pick(r, nil, []corev1.LocalObjectReference{{Name: "registry"}}),
		ServiceAccountName: pick(r, "", "default"),
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
