package memcached

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/proxy"
)

// as is configuration as the API type that it stands for.
func as[T any](t testing.TB, configuration any) *T {
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

func built(t testing.TB, mc *cachev1.Memcached) *appsv1.Deployment {
	t.Helper()
	return as[appsv1.Deployment](t, deployment(mc, defaultImage, nil))
}

func limited(memory string) func(*cachev1.Memcached) {
	return func(mc *cachev1.Memcached) {
		mc.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(*cachev1.Memcached)
		want   []string
	}{
		"None": {reason: "memcached's own defaults", change: func(*cachev1.Memcached) {}, want: []string{"-p", "11211"}},
		"All": {
			reason: "in a fixed order, the user's own last",
			change: func(mc *cachev1.Memcached) {
				mc.Spec.MaxMemory, mc.Spec.MaxItemSize = new(resource.MustParse("64Mi")), new(resource.MustParse("2Mi"))
				mc.Spec.MaxConnections, mc.Spec.Threads = new(int32(1024)), new(int32(4))
				mc.Spec.ExtraArgs = []string{"-o", "modern"}
			},
			want: []string{"-p", "11211", "-m", "64", "-c", "1024", "-t", "4", "-I", "2097152", "-o", "modern"},
		},
		"Resources": {
			reason: "a limit of CPU says nothing of memory",
			change: func(mc *cachev1.Memcached) {
				mc.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}, Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
			},
			want: []string{"-p", "11211"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, arguments(sample(1, tc.change))); diff != "" {
				t.Errorf("%s: arguments() (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// dragonfly-operator#71: memcached does not see its limit, and must be told to stay below it.
func TestMemoryForItems(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]int64{
		"1": 1, "1Mi": 1, "16Mi": 1, "17Mi": 1, "18Mi": 2, "32Mi": 16, "64Mi": 48, "80Mi": 64, "100Mi": 80, "128Mi": 102,
		"256Mi": 204, "512Mi": 409, "1Gi": 819, "1G": 762, "2Gi": 1638, "8Gi": 6553, "1Ti": 838860, "134217728": 102, "134217728000m": 102, "100Ei": 7036874417766,
	} {
		if got := memoryForItems(sample(1, limited(limit))) / mebibyte; got != want {
			t.Errorf("under a limit of %s, -m is %d, want %d", limit, got, want)
		}
	}
	for memory, want := range map[string]int64{"1Mi": 1, "64Mi": 64, "100M": 95, "1Gi": 1024, "1": 1, "0": 1} {
		mc := sample(1, limited("128Mi"), func(mc *cachev1.Memcached) { mc.Spec.MaxMemory = new(resource.MustParse(memory)) })
		if got := memoryForItems(mc) / mebibyte; got != want {
			t.Errorf("with maxMemory %s, -m is %d, want %d", memory, got, want)
		}
	}
}

// dragonfly-operator#71, over all limits: something is left for items, and something for the rest.
func TestMemoryLeavesRoom(t *testing.T) {
	t.Parallel()
	for mib := int64(1); mib < 4096; mib++ {
		got := memoryForItems(sample(1, limited(fmt.Sprintf("%dMi", mib))))
		if got < mebibyte || (mib > 17 && got > (mib-16)*mebibyte) || got > max(mib*mebibyte*4/5+1, mebibyte) {
			t.Errorf("under a limit of %d MiB, memory for items is %d bytes", mib, got)
		}
	}
}

// trustee-operator#167: built a hundred times, the children are the same to the byte.
func TestChildrenAreDeterministic(t *testing.T) {
	t.Parallel()
	mc := sample(2, func(mc *cachev1.Memcached) {
		many := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}
		mc.Spec.PodTemplate = &workload.PodTemplate{Labels: many, Annotations: many, NodeSelector: many}
	})
	settings := []proxy.Setting{{Name: "HTTP_PROXY", Value: "h"}, {Name: "NO_PROXY", Value: "n"}}
	build := func() string {
		data, err := json.Marshal([]any{service(mc), deployment(mc, defaultImage, settings), budget(mc)})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	first := build()
	for range 100 {
		if again := build(); again != first {
			t.Fatalf("first\n%s\nthen\n%s", first, again)
		}
	}
}

// opentelemetry-operator#2585: scaling restarts no pod.
func TestTemplateDoesNotDependOnTheSize(t *testing.T) {
	t.Parallel()
	want := built(t, sample(1)).Spec.Template
	for _, n := range []int32{0, 2, 3, 100} {
		if diff := cmp.Diff(want, built(t, sample(n)).Spec.Template); diff != "" {
			t.Errorf("size 1 and %d (-1 +%d):\n%s", n, n, diff)
		}
	}
}

// keycloak#14220: two instances share no pods.
func TestSelectorNamesTheInstance(t *testing.T) {
	t.Parallel()
	other := sample(1, func(mc *cachev1.Memcached) { mc.Name = "other" })
	want := map[string]string{"app": "memcached", "memcached_cr": "demo"}
	selectors := map[string]map[string]string{
		"Deployment":          built(t, sample(2)).Spec.Selector.MatchLabels,
		"Service":             as[corev1.Service](t, service(sample(2))).Spec.Selector,
		"PodDisruptionBudget": as[policyv1.PodDisruptionBudget](t, budget(sample(2))).Spec.Selector.MatchLabels,
	}
	for kind, got := range selectors {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("selector of the %s (-want +got):\n%s", kind, diff)
		}
		if labels := built(t, other).Spec.Template.Labels; labels["memcached_cr"] == got["memcached_cr"] {
			t.Errorf("the %s selects pods of another: %v", kind, labels)
		}
	}
}

// kubebuilder#5977: a label says the version where one can, and no image makes an invalid label or a panic.
func TestVersionLabel(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"memcached:1.6": "1.6", "memcached": "", "localhost:5000/memcached": "", "localhost:5000/memcached:v1": "v1",
		"memcached@sha256:0000000000000000000000000000000000000000000000000000000000000000": "", "memcached:_dev": "", "": "", "???": "",
	} {
		deploy := as[appsv1.Deployment](t, deployment(sample(1), image, nil))
		if got := deploy.Labels[labelVersion]; got != want {
			t.Errorf("the version of %q is %q, want %q", image, got, want)
		}
		if len(validation.IsValidLabelValue(deploy.Labels[labelVersion])) != 0 {
			t.Errorf("the label of %q is invalid", image)
		}
		if _, there := deploy.Spec.Template.Labels[labelVersion]; there {
			t.Error("a label of the version would restart pods that a new label alone need not restart")
		}
	}
}

func TestDesired(t *testing.T) {
	t.Parallel()
	r := &Reconciler{Image: defaultImage}
	for n, budgets := range map[int32]bool{0: false, 1: false, 2: true, 3: true} {
		wanted, unwanted := r.desired(sample(n))
		if got := len(wanted) == 3 && len(unwanted) == 0; got != budgets || len(wanted)+len(unwanted) != 3 {
			t.Errorf("size %d: %d wanted, %d unwanted, want a budget: %t", n, len(wanted), len(unwanted), budgets)
		}
	}
	if got := size(&cachev1.Memcached{}); got != 1 {
		t.Errorf("the size of a Memcached that says nothing is %d", got)
	}
}

func TestContainer(t *testing.T) {
	t.Parallel()
	mc := sample(1)
	c := built(t, mc).Spec.Template.Spec.Containers[0]
	if c.Name != "memcached" || c.Image != defaultImage || len(c.Ports) != 1 || c.Ports[0].Name != "memcached" || c.Ports[0].ContainerPort != 11211 {
		t.Errorf("the container is %+v", c)
	}
	security := c.SecurityContext
	if *security.AllowPrivilegeEscalation || !*security.ReadOnlyRootFilesystem || *security.RunAsUser == 0 || security.Capabilities.Drop[0] != "ALL" {
		t.Errorf("the container may do too much: %+v", security)
	}
	target := as[corev1.Service](t, service(mc)).Spec.Ports[0].TargetPort.StrVal
	if target != c.Ports[0].Name || c.ReadinessProbe.TCPSocket.Port.StrVal != target || c.LivenessProbe.TCPSocket.Port.StrVal != target {
		t.Errorf("Service and probes do not name the container's port: %q", target)
	}
}

// The operator's labels are on each pod, whatever the user says, or it would lose sight of them.
func TestIdentity(t *testing.T) {
	t.Parallel()
	own := map[string]string{"app": "memcached", "memcached_cr": "demo", children.LabelManagedBy: children.ManagedBy}
	mc := sample(1, func(mc *cachev1.Memcached) {
		mc.Spec.PodTemplate = &workload.PodTemplate{Labels: map[string]string{"app": "mine"}}
	})
	if diff := cmp.Diff(own, identity(mc)); diff != "" {
		t.Errorf("identity() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(own, built(t, mc).Spec.Template.Labels); diff != "" {
		t.Errorf("labels of the pods (-want +got):\n%s", diff)
	}
}
