// Package workload holds what the specs and statuses of all kinds have in common:
// how pods are shaped, what deletion does, and the conditions that every kind reports.
//
// +kubebuilder:object:generate=true
package workload

import (
	corev1 "k8s.io/api/core/v1"
)

// DeletionPolicy says what becomes of the children when their owner is deleted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionPolicyDelete removes the children in order and releases the owner once its pods are gone.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyOrphan gives the children up, untouched and running.
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
)

// PodTemplate is what a user may say about the pods beyond the kind's own fields.
type PodTemplate struct {
	// labels are added to the pods. The keys by which the operator finds its pods cannot be set.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`

	// nodeSelector limits the nodes that the pods may run on.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations let the pods run on tainted nodes.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity attracts the pods to nodes and pods, or keeps them apart.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the pods over zones, nodes and the like.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the pods' priority class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// imagePullSecrets are Secrets of the same namespace with credentials for the image's registry.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// serviceAccountName is the account that the pods run as; its token is not mounted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}
