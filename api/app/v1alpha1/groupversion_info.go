// Package v1alpha1 is version v1alpha1 of the API group app.example.com: the MyApp kind.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=app.example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of this package's kinds.
var SchemeGroupVersion = schema.GroupVersion{Group: "app.example.com", Version: "v1alpha1"}

// AddToScheme makes this package's kinds known to scheme. It never fails.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &MyApp{}, &MyAppList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
