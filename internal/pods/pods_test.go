package pods

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example-inc/memcached-operator/api/workload"
)

// read is configuration as the API type that it stands for; a field of the one that the other lacks fails the test.
func read[T any](t *testing.T, configuration any) *T {
	t.Helper()
	data, err := json.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	into := new(T)
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
	return into
}

func TestOwner(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "1"}}
	want := &metav1.OwnerReference{APIVersion: "g/v1", Kind: "K", Name: "demo", UID: "1", Controller: new(true), BlockOwnerDeletion: new(true)}
	got := read[metav1.OwnerReference](t, Owner(pod, schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Owner() (-want +got):\n%s", diff)
	}
}

// restricted is what the restricted Pod Security Standard wants of every pod, with nothing else.
func restricted(labels map[string]string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{Name: "main"}},
		},
	}
}

// runtime-component-operator#93: nothing that a user leaves out is a problem, and everything that a user says is there.
func TestTemplate(t *testing.T) {
	t.Parallel()
	full := &workload.PodTemplate{
		Labels: map[string]string{"team": "a", "app": "mine"}, Annotations: map[string]string{"note": ""},
		NodeSelector: map[string]string{"disk": "ssd"},
		Tolerations:  []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(0))}, {Key: "b"}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}},
		}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}},
		PriorityClassName:         "high", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "b"}, {Name: "a"}}, ServiceAccountName: "runner",
	}
	all := restricted(map[string]string{"team": "a", "app": "ours"})
	all.Annotations, all.Spec.NodeSelector, all.Spec.Tolerations = full.Annotations, full.NodeSelector, full.Tolerations
	all.Spec.Affinity, all.Spec.TopologySpreadConstraints = full.Affinity, full.TopologySpreadConstraints
	all.Spec.PriorityClassName, all.Spec.ImagePullSecrets, all.Spec.ServiceAccountName = "high", full.ImagePullSecrets, "runner"
	empty := restricted(map[string]string{"app": "ours"})
	empty.Spec.Affinity = &corev1.Affinity{}

	for name, tc := range map[string]struct {
		reason string
		user   *workload.PodTemplate
		want   *corev1.PodTemplateSpec
	}{
		"Nil":  {reason: "no template at all", user: nil, want: restricted(map[string]string{"app": "ours"})},
		"Zero": {reason: "a template that says nothing", user: &workload.PodTemplate{}, want: restricted(map[string]string{"app": "ours"})},
		"Full": {reason: "everything, with the operator's label winning", user: full, want: all},
		"Empty": {
			reason: "what is there but empty is the same as absent, but for the affinity, which the API server keeps",
			user: &workload.PodTemplate{
				Labels: map[string]string{}, Annotations: map[string]string{}, NodeSelector: map[string]string{}, Tolerations: []corev1.Toleration{},
				Affinity: &corev1.Affinity{}, TopologySpreadConstraints: []corev1.TopologySpreadConstraint{}, ImagePullSecrets: []corev1.LocalObjectReference{},
			},
			want: empty,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tc.user.DeepCopy()
			got := read[corev1.PodTemplateSpec](t, Template(map[string]string{"app": "ours"}, tc.user, corev1ac.Container().WithName("main")))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: Template() (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.user); diff != "" {
				t.Errorf("Template() has changed the user's (-before +after):\n%s", diff)
			}
		})
	}
}

func TestContainer(t *testing.T) {
	t.Parallel()
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	for name, tc := range map[string]struct {
		reason    string
		resources *corev1.ResourceRequirements
		want      corev1.ResourceRequirements
	}{
		"Nil":   {reason: "none are asked for"},
		"Empty": {reason: "none are asked for, in other words", resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{}}},
		"Both": {
			reason: "as asked for", resources: &corev1.ResourceRequirements{Limits: list("1500m", "1Gi"), Requests: list("1", "512Mi")},
			want: corev1.ResourceRequirements{Limits: list("1500m", "1Gi"), Requests: list("1", "512Mi")},
		},
		"Fractions": {
			reason:    "the API server rounds up to thousandths; what it does not keep would be applied for ever",
			resources: &corev1.ResourceRequirements{Limits: list("100n", "1100u"), Requests: list("1500u", "1500m")},
			want:      corev1.ResourceRequirements{Limits: list("1m", "2m"), Requests: list("2m", "1500m")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := &corev1.Container{Name: "main", Resources: tc.want, SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}
			before := tc.resources.DeepCopy()
			if diff := cmp.Diff(want, read[corev1.Container](t, Container(corev1ac.Container().WithName("main"), tc.resources))); diff != "" {
				t.Errorf("%s: Container() (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.resources); diff != "" {
				t.Errorf("Container() has changed the user's (-before +after):\n%s", diff)
			}
		})
	}
}

func TestRollingTakesNoPodBeforeItsSuccessor(t *testing.T) {
	t.Parallel()
	got := Rolling()
	if unavailable := got.RollingUpdate.MaxUnavailable.IntValue(); unavailable != 0 {
		t.Errorf("maxUnavailable is %d, want 0", unavailable)
	}
	if surge := got.RollingUpdate.MaxSurge.String(); surge == "0" || surge == "0%" {
		t.Errorf("maxSurge is %s, so that with maxUnavailable 0 nothing can move", surge)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	owner := Owner(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "1"}}, schema.GroupVersionKind{})
	got := Budget("demo", "ns", map[string]string{"app": "a", "more": "b"}, map[string]string{"app": "a"}, owner)
	if *got.Name != "demo" || *got.Namespace != "ns" || got.Labels["more"] != "b" || len(got.OwnerReferences) != 1 {
		t.Errorf("Budget() = %+v, want name, namespace, labels and owner as given", got.ObjectMetaApplyConfiguration)
	}
	if diff := cmp.Diff(map[string]string{"app": "a"}, got.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if got.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("maxUnavailable is %v, want 1: a drain takes one pod at a time", got.Spec.MaxUnavailable)
	}
}

func TestAsPanicsOnAWrongPairOfTypes(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a text was taken for a container")
		}
	}()
	as[corev1ac.ContainerApplyConfiguration]("text")
}
