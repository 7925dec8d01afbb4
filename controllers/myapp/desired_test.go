package myapp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
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

func built(t testing.TB, app *appv1alpha1.MyApp) *appsv1.Deployment {
	t.Helper()
	return as[appsv1.Deployment](t, deployment(app, nil))
}

// trustee-operator#167, kubernetes#58477, kubectl#1750: the variables are the user's, sorted, and the proxy's.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	app := sample(1, func(app *appv1alpha1.MyApp) { app.Spec.Env = map[string]string{"B": "2", "A": "", "no_proxy": "mine"} })
	settings := []proxy.Setting{{Name: "HTTP_PROXY", Value: "h"}, {Name: "NO_PROXY", Value: "n"}}
	got := as[appsv1.Deployment](t, deployment(app, settings)).Spec.Template.Spec.Containers[0].Env
	want := []corev1.EnvVar{{Name: "A"}, {Name: "B", Value: "2"}, {Name: "no_proxy", Value: "mine"}, {Name: "HTTP_PROXY", Value: "h"}, {Name: "http_proxy", Value: "h"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
}

// runtime-component-operator#93: where the schema's defaults have not been filled in, they are here.
func TestDefaults(t *testing.T) {
	t.Parallel()
	app := &appv1alpha1.MyApp{}
	if replicas(app) != 1 || port(app) != 8080 {
		t.Errorf("a MyApp that says nothing has %d replicas on port %d, want 1 on 8080", replicas(app), port(app))
	}
	app.Spec.Replicas, app.Spec.Port = new(int32(3)), new(int32(80))
	if replicas(app) != 3 || port(app) != 80 {
		t.Errorf("it has %d replicas on port %d, want 3 on 80", replicas(app), port(app))
	}
}

// trustee-operator#167: built a hundred times, the children are the same to the byte.
func TestChildrenAreDeterministic(t *testing.T) {
	t.Parallel()
	app := sample(2, func(app *appv1alpha1.MyApp) {
		many := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}
		app.Spec.Env = many
		app.Spec.PodTemplate = &workload.PodTemplate{Labels: many, Annotations: many, NodeSelector: many}
	})
	settings := []proxy.Setting{{Name: "HTTP_PROXY", Value: "h"}, {Name: "NO_PROXY", Value: "n"}}
	build := func() string {
		data, err := json.Marshal([]any{service(app), deployment(app, settings), budget(app)})
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
func TestTemplateDoesNotDependOnTheReplicas(t *testing.T) {
	t.Parallel()
	want := built(t, sample(1)).Spec.Template
	for _, n := range []int32{2, 3, 100} {
		if diff := cmp.Diff(want, built(t, sample(n)).Spec.Template); diff != "" {
			t.Errorf("1 replica and %d (-1 +%d):\n%s", n, n, diff)
		}
	}
}

// keycloak#14220: two instances share no pods.
func TestSelectorNamesTheInstance(t *testing.T) {
	t.Parallel()
	other := sample(1, func(app *appv1alpha1.MyApp) { app.Name = "other" })
	want := map[string]string{labelName: "myapp", labelInstance: "demo"}
	selectors := map[string]map[string]string{
		"Deployment":          built(t, sample(2)).Spec.Selector.MatchLabels,
		"Service":             as[corev1.Service](t, service(sample(2))).Spec.Selector,
		"PodDisruptionBudget": as[policyv1.PodDisruptionBudget](t, budget(sample(2))).Spec.Selector.MatchLabels,
	}
	for kind, got := range selectors {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("selector of the %s (-want +got):\n%s", kind, diff)
		}
		if labels := built(t, other).Spec.Template.Labels; labels[labelInstance] == got[labelInstance] {
			t.Errorf("the %s selects pods of another: %v", kind, labels)
		}
	}
}

// kubebuilder#5977: a label says the version where one can, and no image makes an invalid label or a panic.
func TestVersionLabel(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"nginx:latest": "latest", "nginx": "", "localhost:5000/app": "", "localhost:5000/app:v1": "v1",
		"app@sha256:0000000000000000000000000000000000000000000000000000000000000000": "", "app:_dev": "", "": "", "???": "",
	} {
		deploy := built(t, sample(1, func(app *appv1alpha1.MyApp) { app.Spec.Image = image }))
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
	r := &Reconciler{}
	for n, budgets := range map[int32]bool{1: false, 2: true, 3: true} {
		wanted, unwanted := r.desired(sample(n))
		if got := len(wanted) == 3 && len(unwanted) == 0; got != budgets || len(wanted)+len(unwanted) != 3 {
			t.Errorf("%d replicas: %d wanted, %d unwanted, want a budget: %t", n, len(wanted), len(unwanted), budgets)
		}
	}
}

func TestContainer(t *testing.T) {
	t.Parallel()
	app := sample(1, func(app *appv1alpha1.MyApp) {
		app.Spec.Port = new(int32(3000))
	})
	c := built(t, app).Spec.Template.Spec.Containers[0]
	if c.Name != "myapp" || c.Image != "nginx:latest" || len(c.Ports) != 1 || c.Ports[0].Name != "http" || c.Ports[0].ContainerPort != 3000 {
		t.Errorf("the container is %+v", c)
	}
	if *c.SecurityContext.AllowPrivilegeEscalation || c.SecurityContext.Capabilities.Drop[0] != "ALL" {
		t.Errorf("the container may do too much: %+v", c.SecurityContext)
	}
	offered := as[corev1.Service](t, service(app)).Spec.Ports[0]
	if offered.Port != 3000 || offered.TargetPort.StrVal != c.Ports[0].Name || c.ReadinessProbe.TCPSocket.Port.StrVal != c.Ports[0].Name {
		t.Errorf("Service and probe do not name the container's port: %+v", offered)
	}
}

// The operator's labels are on each pod, whatever the user says, or it would lose sight of them.
func TestIdentity(t *testing.T) {
	t.Parallel()
	own := map[string]string{labelName: "myapp", labelInstance: "demo", children.LabelManagedBy: children.ManagedBy}
	app := sample(1, func(app *appv1alpha1.MyApp) {
		app.Spec.PodTemplate = &workload.PodTemplate{Labels: map[string]string{labelName: "mine"}}
	})
	if diff := cmp.Diff(own, identity(app)); diff != "" {
		t.Errorf("identity() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(own, built(t, app).Spec.Template.Labels); diff != "" {
		t.Errorf("labels of the pods (-want +got):\n%s", diff)
	}
}
