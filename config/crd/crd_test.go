package crd_test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/example-inc/memcached-operator/config/crd"
	"github.com/example-inc/memcached-operator/test/fixtures/admission"
)

func definitions(tb testing.TB) map[string]*apiextensionsv1.CustomResourceDefinition {
	tb.Helper()
	all, err := crd.Definitions()
	if err != nil {
		tb.Fatal(err)
	}
	if len(all) != 2 {
		tb.Fatalf("%d definitions are shipped, want 2", len(all))
	}
	return all
}

// kubectl apply keeps the whole definition in one annotation: kube-prometheus#1511, postgres-operator#3938.
func TestDefinitionsFitIntoAnAnnotation(t *testing.T) {
	t.Parallel()
	const annotationLimit = 262144
	names, err := fs.Glob(crd.Files, "bases/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no definitions found: %v", err)
	}
	for _, name := range names {
		data, err := crd.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) >= annotationLimit/2 {
			t.Errorf("%s has %d bytes, and should stay under half of what kubectl apply can take, %d", name, len(data), annotationLimit)
		}
	}
}

// The API server refuses a definition with a rule that does not compile or that may cost too much.
func TestDefinitionsAreAcceptedByTheAPIServersOwnValidation(t *testing.T) {
	t.Parallel()
	for kind, definition := range definitions(t) {
		if _, err := admission.New(t.Context(), definition); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// What readers of the tutorial type stays valid: short name, columns, bounds, defaults and phases.
func TestMyAppKeepsTheTutorialsShape(t *testing.T) {
	t.Parallel()
	definition := definitions(t)["MyApp"]
	if diff := cmp.Diff([]string{"ma"}, definition.Spec.Names.ShortNames); diff != "" {
		t.Errorf("short names (-want +got):\n%s", diff)
	}
	version := definition.Spec.Versions[0]
	var columns []string
	for _, column := range version.AdditionalPrinterColumns {
		columns = append(columns, column.Name)
	}
	if diff := cmp.Diff([]string{"Phase", "Replicas", "Ready", "Age"}, columns); diff != "" {
		t.Errorf("printer columns (-want +got):\n%s", diff)
	}

	spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
	for name, want := range map[string]struct {
		minimum, maximum float64
		deflt            string
	}{
		"replicas": {minimum: 1, maximum: 100, deflt: "1"},
		"port":     {minimum: 1, maximum: 65535, deflt: "8080"},
	} {
		property := spec.Properties[name]
		if *property.Minimum != want.minimum || *property.Maximum != want.maximum || string(property.Default.Raw) != want.deflt {
			t.Errorf("%s is from %v to %v, default %s; want %+v", name, *property.Minimum, *property.Maximum, property.Default.Raw, want)
		}
	}
	if diff := cmp.Diff([]string{"image"}, spec.Required); diff != "" {
		t.Errorf("required fields (-want +got):\n%s", diff)
	}
	phase := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["phase"]
	var phases []string
	for _, value := range phase.Enum {
		phases = append(phases, string(value.Raw))
	}
	if diff := cmp.Diff([]string{`"Pending"`, `"Running"`, `"Failed"`, `"Terminating"`}, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}

// The rules that both kinds share are written down twice where Go offers no place for both.
func TestBothKindsShareTheRulesOfSharedFields(t *testing.T) {
	t.Parallel()
	all := definitions(t)
	fields := func(kind string) map[string]apiextensionsv1.JSONSchemaProps {
		return all[kind].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	}
	app, cache := fields("MyApp"), fields("Memcached")
	if diff := cmp.Diff(app["image"].XValidations, cache["image"].XValidations); diff != "" {
		t.Errorf("rules of image (-MyApp +Memcached):\n%s", diff)
	}
	shared := app["resources"].XValidations
	if len(shared) == 0 || len(cache["resources"].XValidations) < len(shared) {
		t.Fatal("a kind lacks rules for resources")
	}
	if diff := cmp.Diff(shared, cache["resources"].XValidations[:len(shared)]); diff != "" {
		t.Errorf("rules of resources (-MyApp +Memcached):\n%s", diff)
	}
	if diff := cmp.Diff(app["podTemplate"].Properties, cache["podTemplate"].Properties); diff != "" {
		t.Errorf("rules of podTemplate (-MyApp +Memcached):\n%s", diff)
	}
}
