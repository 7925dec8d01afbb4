package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example-inc/memcached-operator/api/workload"
)

// MemcachedSpec says how many memcached servers are wanted, and how they are set up.
type MemcachedSpec struct {
	// size is the number of memcached pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Size *int32 `json:"size,omitempty"`

	// image of memcached. Unset means the operator's default image.
	// +optional
	Image string `json:"image,omitempty"`

	// maxMemory is the memory for items (memcached -m), rounded down to MiB.
	// Unset means the memory limit less overhead, or memcached's own default where there is no limit.
	// +optional
	MaxMemory *resource.Quantity `json:"maxMemory,omitempty"`

	// maxConnections is the number of simultaneous connections (memcached -c).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxConnections *int32 `json:"maxConnections,omitempty"`

	// threads is the number of worker threads (memcached -t).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Threads *int32 `json:"threads,omitempty"`

	// maxItemSize is the size of the largest item (memcached -I), from 1Ki to 1Gi.
	// +optional
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// extraArgs are handed to memcached as they are, after the operator's own arguments.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	ExtraArgs []string `json:"extraArgs,omitempty"`

	// suspend makes the operator leave the children alone and only report.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// deletionPolicy says what becomes of the children when the Memcached is deleted.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy workload.DeletionPolicy `json:"deletionPolicy,omitempty"`

	// resources are the compute resources of the memcached container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// podTemplate shapes the pods.
	// +optional
	PodTemplate *workload.PodTemplate `json:"podTemplate,omitempty"`
}

// MemcachedStatus says what has been seen of a Memcached.
type MemcachedStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of pods.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// selector selects the pods, in the form that autoscalers read from /scale.
	// +optional
	Selector string `json:"selector,omitempty"`

	// nodes are the names of the pods that are ready and not terminating, sorted.
	// +optional
	// +listType=atomic
	Nodes []string `json:"nodes,omitempty"`

	// conditions are Available, Progressing and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Memcached is a set of equal memcached servers behind a headless Service of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=memcacheds,singular=memcached,shortName=mc,categories=all;cache
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +optional
	// +kubebuilder:default={}
	Spec MemcachedSpec `json:"spec,omitempty"`

	// status is what has been seen.
	// +optional
	Status MemcachedStatus `json:"status,omitempty"`
}

// MemcachedList is a list of Memcacheds.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Memcached `json:"items"`
}
