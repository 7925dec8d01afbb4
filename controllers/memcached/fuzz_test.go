package memcached

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
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

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
	"github.com/example-inc/memcached-operator/internal/proxy"
)

// drawn is a Memcached with a spec made of data, which need not be one that the schema lets through.
func drawn(data []byte) *cachev1.Memcached {
	mc := &cachev1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: "owner"}}
	randfill.NewFromGoFuzz(data).NilChance(.4).NumElements(0, 3).Funcs(func(q *resource.Quantity, c randfill.Continue) {
		scale := []resource.Scale{resource.Nano, resource.Micro, resource.Milli, 0, resource.Mega, resource.Peta}[c.Intn(6)]
		*q = *resource.NewScaledQuantity(c.Int63n(1<<40), scale)
	}).Fill(&mc.Spec)
	if mc.Spec.Image == "" {
		mc.Spec.Image = defaultImage
	}
	return mc
}

// runtime-component-operator#93: no spec, however odd, makes a panic or children that an API server would not keep.
func FuzzMemcachedChildren(f *testing.F) {
	source := rand.NewChaCha8([32]byte{})
	for size := range 100 {
		data := make([]byte, 20*size)
		_, _ = source.Read(data) // It never fails.
		f.Add(data)
	}
	settings := []proxy.Setting{{Name: "HTTP_PROXY", Value: "h"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		mc := drawn(data)
		before := mc.DeepCopy()
		build := func() map[client.Object]runtime.ApplyConfiguration {
			return map[client.Object]runtime.ApplyConfiguration{
				&corev1.Service{}: service(mc), &policyv1.PodDisruptionBudget{}: budget(mc), &appsv1.Deployment{}: deployment(mc, mc.Spec.Image, settings),
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
				checkDeployment(t, mc, deploy)
			}
		}
		if first, second := encode(t, deployment(mc, mc.Spec.Image, settings)), encode(t, deployment(before, before.Spec.Image, settings)); first != second {
			t.Errorf("the same spec makes\n%s\nand\n%s", first, second)
		}
		if encode(t, before) != encode(t, mc) {
			t.Error("the Memcached has been changed")
		}
		(&Reconciler{}).desired(mc)
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

func checkDeployment(t *testing.T, mc *cachev1.Memcached, deploy *appsv1.Deployment) {
	t.Helper()
	for key, value := range deploy.Spec.Selector.MatchLabels {
		if deploy.Spec.Template.Labels[key] != value {
			t.Errorf("the selector %v does not match the template's labels %v", deploy.Spec.Selector.MatchLabels, deploy.Spec.Template.Labels)
		}
	}
	args := deploy.Spec.Template.Spec.Containers[0].Args
	own := args[:len(args)-len(mc.Spec.ExtraArgs)]
	if !slices.Equal(args[len(own):], mc.Spec.ExtraArgs) {
		t.Errorf("the arguments %q do not end with the user's %q", args, mc.Spec.ExtraArgs)
	}
	if len(own)%2 != 0 || own[0] != "-p" || own[1] != "11211" {
		t.Fatalf("the operator's arguments are %q", own)
	}
	for i := 0; i < len(own); i += 2 {
		value, err := strconv.ParseInt(own[i+1], 10, 64)
		if !slices.Contains([]string{"-p", "-m", "-c", "-t", "-I"}, own[i]) || err != nil || (own[i] == "-m" && value < 1) {
			t.Errorf("the operator's arguments are %q", own)
		}
	}
}
