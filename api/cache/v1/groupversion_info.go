// Package v1 is version v1 of the API group cache.example.com: the Memcached kind.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=cache.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of this package's kinds.
var SchemeGroupVersion = schema.GroupVersion{Group: "cache.example.com", Version: "v1"}

// AddToScheme makes this package's kinds known to scheme. It never fails.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &Memcached{}, &MemcachedList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
