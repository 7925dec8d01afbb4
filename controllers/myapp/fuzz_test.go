package myapp

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
	"github.com/example-inc/memcached-operator/internal/proxy"
)

// drawn is a MyApp with a spec made of data, which need not be one that the schema lets through.
func drawn(data []byte) *appv1alpha1.MyApp {
	app := &appv1alpha1.MyApp{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: "owner"}}
	randfill.NewFromGoFuzz(data).NilChance(.4).NumElements(0, 3).Funcs(func(q *resource.Quantity, c randfill.Continue) {
		scale := []resource.Scale{resource.Nano, resource.Micro, resource.Milli, 0, resource.Mega, resource.Peta}[c.Intn(6)]
		*q = *resource.NewScaledQuantity(c.Int63n(1<<40), scale)
	}).Fill(&app.Spec)
	if app.Spec.Image == "" {
		app.Spec.Image = "nginx:latest"
	}
	for _, n := range []*int32{app.Spec.Replicas, app.Spec.Port} {
		if n != nil && *n < 1 { // The schema does not let it through, and a port of 0 is left out.
			*n = 1
		}
	}
	return app
}

// runtime-component-operator#93: no spec, however odd, makes a panic or children that an API server would not keep.
func FuzzMyAppChildren(f *testing.F) {
	source := rand.NewChaCha8([32]byte{})
	for size := range 100 {
		data := make([]byte, 20*size)
		_, _ = source.Read(data) // It never fails.
		f.Add(data)
	}
	settings := []proxy.Setting{{Name: "HTTP_PROXY", Value: "h"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		app := drawn(data)
		before := app.DeepCopy()
		build := func() map[client.Object]runtime.ApplyConfiguration {
			return map[client.Object]runtime.ApplyConfiguration{
				&corev1.Service{}: service(app), &policyv1.PodDisruptionBudget{}: budget(app), &appsv1.Deployment{}: deployment(app, settings),
			}
		}
		for object, configuration := range build() {
			lost, err := fakeapi.Lost(configuration, object)
			if err != nil || len(lost) != 0 {
				t.Errorf("of the %T an API server does not keep: %q, %v", object, lost, err)
			}
			for key, value := range object.GetLabels() {
				if len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) != 0 {
					t.Errorf("the label %s=%s of the %T is invalid", key, value, object)
				}
			}
			if deploy, ok := object.(*appsv1.Deployment); ok {
				checkDeployment(t, app, deploy)
			}
		}
		if first, second := encode(t, deployment(app, settings)), encode(t, deployment(before, settings)); first != second {
			t.Errorf("the same spec makes\n%s\nand\n%s", first, second)
		}
		if encode(t, before) != encode(t, app) {
			t.Error("the MyApp has been changed")
		}
		(&Reconciler{}).desired(app)
	})
}

func encode(t *testing.T, object any) string {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func checkDeployment(t *testing.T, app *appv1alpha1.MyApp, deploy *appsv1.Deployment) {
	t.Helper()
	for key, value := range deploy.Spec.Selector.MatchLabels {
		if deploy.Spec.Template.Labels[key] != value {
			t.Errorf("the selector %v does not match the template's labels %v", deploy.Spec.Selector.MatchLabels, deploy.Spec.Template.Labels)
		}
	}
	seen := map[string]bool{}
	for _, variable := range deploy.Spec.Template.Spec.Containers[0].Env {
		if seen[variable.Name] {
			t.Errorf("the variable %q is there twice", variable.Name)
		}
		seen[variable.Name] = true
	}
	for name := range app.Spec.Env {
		if !seen[name] {
			t.Errorf("the user's variable %q is missing", name)
		}
	}
}
