package controllers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

// manager is one that is never started, and needs no API server: the mapper knows the kinds already.
func manager(t *testing.T) ctrl.Manager {
	t.Helper()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: Scheme(), Cache: Cache(), Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			mapper := meta.NewDefaultRESTMapper(nil)
			for gvk := range Scheme().AllKnownTypes() {
				mapper.Add(gvk, meta.RESTScopeNamespace)
			}
			return mapper, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// options allow a second manager in one process (controller-runtime#2937).
func options() Options {
	return Options{MemcachedImage: "memcached:1.6", Controller: controller.Options{SkipNameValidation: new(true)}}
}

func TestSetupWithManager(t *testing.T) {
	t.Parallel()
	for range 2 {
		if err := SetupWithManager(t.Context(), manager(t), options()); err != nil {
			t.Errorf("SetupWithManager() = %v", err)
		}
	}
}

// An index that is there already is refused, and the error says whose it was.
func TestSetupWithManagerErrors(t *testing.T) {
	t.Parallel()
	for index, want := range map[string]string{"memcached": "adding the controller of Memcached: ", "myapp": "adding the controller of MyApp: "} {
		mgr := manager(t)
		taken := func(client.Object) []string { return nil }
		if err := mgr.GetFieldIndexer().IndexField(t.Context(), &corev1.Pod{}, index, taken); err != nil {
			t.Fatal(err)
		}
		if err := SetupWithManager(t.Context(), mgr, options()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("SetupWithManager() = %v, want %s…", err, want)
		}
	}
}

func TestScheme(t *testing.T) {
	t.Parallel()
	scheme := Scheme()
	for _, object := range []client.Object{
		&cachev1.Memcached{}, &appv1alpha1.MyApp{}, &appsv1.Deployment{}, &corev1.Service{}, &corev1.Pod{}, &policyv1.PodDisruptionBudget{},
	} {
		if _, _, err := scheme.ObjectKinds(object); err != nil {
			t.Error(err)
		}
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		namespaces []string
		want       map[string]cache.Config
	}{
		"All":  {},
		"One":  {namespaces: []string{"a"}, want: map[string]cache.Config{"a": {}}},
		"More": {namespaces: []string{"a", "b"}, want: map[string]cache.Config{"a": {}, "b": {}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Cache(tc.namespaces...)
			if diff := cmp.Diff(tc.want, got.DefaultNamespaces); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
			if len(got.ByObject) == 0 || got.DefaultTransform == nil {
				t.Error("the cache holds what nobody reads")
			}
		})
	}
}
