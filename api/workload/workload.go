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
//
// Values of maps and names of secrets have no length in the schema, so a regular expression over them would break
// the budget of the API server's cost estimate. The rules look at them letter by letter, which costs next to nothing.
type PodTemplate struct {
	// labels are added to the pods. The keys by which the operator finds its pods cannot be set.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="labels: each key must be a label key: an optional DNS prefix and a slash, then at most 63 characters of A-Z a-z 0-9 - _ . that begin and end alphanumeric"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63 && [0, 1, 2, 3, 4, 5, 6, 7].all(i, [0, 1, 2, 3, 4, 5, 6, 7].all(j, 8 * i + j >= size(self[k]) || 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'.indexOf(self[k].charAt(8 * i + j)) >= 0)) && !['-', '_', '.'].exists(c, self[k].startsWith(c) || self[k].endsWith(c)))",message="labels: each value must be a label value: empty, or at most 63 characters of A-Z a-z 0-9 - _ . that begin and end alphanumeric"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/version', 'app.kubernetes.io/component', 'pod-template-hash'])",message="labels: app.kubernetes.io/name, instance, managed-by, version and component, and pod-template-hash are set by the operator and cannot be changed"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())",message="annotations: each key must be an annotation key: an optional DNS prefix and a slash, then at most 63 characters of A-Z a-z 0-9 - _ . that begin and end alphanumeric"
	// +kubebuilder:validation:XValidation:rule="self.map(k, size(k) + size(self[k])).sum() <= 262144",message="annotations: all keys and values together must not be longer than 262144 characters"
	Annotations map[string]string `json:"annotations,omitempty"`

	// nodeSelector limits the nodes that the pods may run on.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="nodeSelector: each key must be a label key: an optional DNS prefix and a slash, then at most 63 characters of A-Z a-z 0-9 - _ . that begin and end alphanumeric"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63 && [0, 1, 2, 3, 4, 5, 6, 7].all(i, [0, 1, 2, 3, 4, 5, 6, 7].all(j, 8 * i + j >= size(self[k]) || 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'.indexOf(self[k].charAt(8 * i + j)) >= 0)) && !['-', '_', '.'].exists(c, self[k].startsWith(c) || self[k].endsWith(c)))",message="nodeSelector: each value must be a label value: empty, or at most 63 characters of A-Z a-z 0-9 - _ . that begin and end alphanumeric"
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
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the pods' priority class.
	// +optional
	PriorityClassName ObjectName `json:"priorityClassName,omitempty"`

	// imagePullSecrets are Secrets of the same namespace with credentials for the image's registry.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:XValidation:rule="self.all(s, size(s.name) > 0 && size(s.name) <= 253 && !s.name.matches('[^a-z\\\\d.-]') && !s.name.startsWith('-') && !s.name.startsWith('.') && !s.name.endsWith('-') && !s.name.endsWith('.'))",message="imagePullSecrets: each name must be that of a Secret: a DNS-1123 subdomain of at most 253 lower case letters, digits, - and ."
	// +kubebuilder:validation:XValidation:rule="!self.exists(s, s.name.contains('..') || s.name.contains('.-') || s.name.contains('-.'))",message="imagePullSecrets: each name must be that of a Secret: between dots, it must begin and end with a letter or digit"
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// serviceAccountName is the account that the pods run as; its token is not mounted.
	// +optional
	ServiceAccountName ObjectName `json:"serviceAccountName,omitempty"`
}
