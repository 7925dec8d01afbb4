package crd_test

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/config/samples"
	"github.com/example-inc/memcached-operator/test/fixtures"
	"github.com/example-inc/memcached-operator/test/fixtures/admission"
)

func judges(tb testing.TB) map[string]*admission.Judge {
	tb.Helper()
	all := map[string]*admission.Judge{}
	for kind, definition := range definitions(tb) {
		judge, err := admission.New(tb.Context(), definition)
		if err != nil {
			tb.Fatal(err)
		}
		all[kind] = judge
	}
	return all
}

// eachYAML calls check with each file below root, decoded.
func eachYAML(t *testing.T, files fs.FS, check func(t *testing.T, object map[string]any)) {
	t.Helper()
	count := 0
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		count++
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			t.Parallel()
			var object map[string]any
			if err := yaml.Unmarshal(data, &object); err != nil {
				t.Fatal(err)
			}
			check(t, object)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count == 0 {
		t.Fatal("there is nothing to check")
	}
}

// An upgrade must not make what clusters have stored invalid: operator-lifecycle-manager#3342, group-sync-operator#65.
func TestWhatWasReleasedStaysValid(t *testing.T) {
	t.Parallel()
	all := judges(t)
	eachYAML(t, fixtures.Released, func(t *testing.T, object map[string]any) {
		judge := all[object["kind"].(string)]
		if errs := judge.Create(t.Context(), object); len(errs) > 0 {
			t.Errorf("it is not valid any more: %v", errs.ToAggregate())
		}
		if errs := metav1validation.ValidateConditions(conditionsOf(t, object), field.NewPath("status", "conditions")); len(errs) > 0 {
			t.Errorf("its conditions are not valid: %v", errs.ToAggregate())
		}
	})
}

func conditionsOf(t *testing.T, object map[string]any) []metav1.Condition {
	t.Helper()
	decodeInto := map[string]func() (any, *[]metav1.Condition){
		"Memcached": func() (any, *[]metav1.Condition) { mc := &cachev1.Memcached{}; return mc, &mc.Status.Conditions },
		"MyApp":     func() (any, *[]metav1.Condition) { app := &appv1alpha1.MyApp{}; return app, &app.Status.Conditions },
	}
	kind, _, _ := unstructured.NestedString(object, "kind")
	typed, conditions := decodeInto[kind]()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, typed, true); err != nil {
		t.Fatalf("its type does not take it: %v", err)
	}
	return *conditions
}

func TestSamplesAreValidAndHaveNoUnknownField(t *testing.T) {
	t.Parallel()
	all := judges(t)
	eachYAML(t, samples.Files, func(t *testing.T, object map[string]any) {
		judge := all[object["kind"].(string)]
		if unknown := judge.Unknown(runtime.DeepCopyJSON(object)); len(unknown) > 0 {
			t.Errorf("the definition does not know %q", unknown)
		}
		if errs := judge.Create(t.Context(), object); len(errs) > 0 {
			t.Errorf("it is not valid: %v", errs.ToAggregate())
		}
	})
}

// Whoever adds a field shows it in the reference sample.
func TestReferenceSamplesShowEveryField(t *testing.T) {
	t.Parallel()
	for kind, name := range map[string]string{"Memcached": "reference/memcached.yaml", "MyApp": "reference/myapp.yaml"} {
		data, err := samples.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(data, &object); err != nil {
			t.Fatal(err)
		}
		spec := definitions(t)[kind].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, at := range [][]string{{"spec"}, {"spec", "podTemplate"}} {
			shown, _, _ := unstructured.NestedMap(object, at...)
			properties := spec.Properties
			if len(at) > 1 {
				properties = properties[at[1]].Properties
			}
			for property := range properties {
				if _, ok := shown[property]; !ok {
					t.Errorf("%s does not show %s.%s", name, strings.Join(at, "."), property)
				}
			}
		}
	}
}
