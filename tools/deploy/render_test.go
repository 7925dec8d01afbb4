package deploy

import (
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// object is one rendered object, as the API server would decode it and as kubectl would send it.
type object struct {
	runtime.Object
	raw []byte
}

// rendered is config/default, rendered once: the same bytes that kubectl apply -k sends.
var rendered = sync.OnceValues(func() ([]object, error) { return render("../../config/default") })

func render(dir string) ([]object, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()

	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, resource := range resources.Resources() {
		raw, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		decoded, _, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object{decoded, raw})
	}
	return objects, nil
}

// all returns the rendered objects of one type. None is a failure: a test over nothing shows nothing.
func all[T runtime.Object](t *testing.T) []T {
	t.Helper()
	objects, err := rendered()
	if err != nil {
		t.Fatalf("rendering config/default: %v", err)
	}
	var found []T
	for _, o := range objects {
		if typed, ok := o.Object.(T); ok {
			found = append(found, typed)
		}
	}
	if len(found) == 0 {
		t.Fatalf("config/default has no %T", *new(T))
	}
	return found
}

// only returns the one rendered object of its type.
func only[T runtime.Object](t *testing.T) T {
	t.Helper()
	found := all[T](t)
	if len(found) != 1 {
		t.Fatalf("config/default has %d objects of type %T, want one", len(found), found[0])
	}
	return found[0]
}
