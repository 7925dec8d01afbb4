package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example-inc/memcached-operator/api/workload"
)

// Phase sums the conditions up in one word.
//
// +kubebuilder:validation:Enum=Pending;Running;Failed;Terminating
type Phase string

const (
	// PhasePending means not Ready yet, with nothing known to be wrong.
	PhasePending Phase = "Pending"
	// PhaseRunning means Ready.
	PhaseRunning Phase = "Running"
	// PhaseFailed means Degraded.
	PhaseFailed Phase = "Failed"
	// PhaseTerminating means that the MyApp is being deleted.
	PhaseTerminating Phase = "Terminating"
)

// The rules on resources are those of Memcached, where they are explained.

// MyAppSpec says what is run, how often, and where it listens.
type MyAppSpec struct {
	// image of the application.
	Image workload.ImageReference `json:"image"`

	// replicas is the number of pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`

	// port that the application listens on, and that its Service offers.
	// +optional
	// +kubebuilder:default=8080
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// env are the environment variables of the application.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$') && k != '.' && k != '..')",message="env: each name must be that of an environment variable: letters, digits, _ - and ., not beginning with a digit, and not . or .."
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) + size(self[k]) <= 131000)",message="env: a name and its value must not be longer than 131000 characters together, the most that Linux takes"
	Env map[string]string `json:"env,omitempty"`

	// suspend makes the operator leave the children alone and only report.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// deletionPolicy says what becomes of the children when the MyApp is deleted.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy workload.DeletionPolicy `json:"deletionPolicy,omitempty"`

	// resources are the compute resources of the application's container.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || ['cpu', 'memory', 'ephemeral-storage', 'hugepages-64Ki', 'hugepages-2Mi', 'hugepages-32Mi', 'hugepages-512Mi', 'hugepages-1Gi', 'hugepages-16Gi'].all(k, !(k in self.limits) || (type(self.limits[k]) == int ? self.limits[k] >= 0 : size(self.limits[k]) <= 64 && !self.limits[k].matches('[eE].{4}') && isQuantity(self.limits[k]) && !self.limits[k].startsWith('-')))",message="resources.limits: cpu, memory, ephemeral-storage and hugepages must be quantities such as 500m or 64Mi, and not negative",fieldPath=".limits"
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || [['cpu', 'memory', 'ephemeral-storage', 'hugepages-64Ki', 'hugepages-2Mi', 'hugepages-32Mi', 'hugepages-512Mi', 'hugepages-1Gi', 'hugepages-16Gi']].all(known, self.limits.all(k, k in known || k.contains('/')))",message="resources.limits: each resource must be cpu, memory, ephemeral-storage, hugepages-<size> or domain/name",fieldPath=".limits"
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || self.limits.all(k, !k.contains('/') || int(self.limits[k]) >= 0)",message="resources.limits: an extended resource (domain/name) must be a whole number, and not negative",fieldPath=".limits"
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || ['cpu', 'memory', 'ephemeral-storage', 'hugepages-64Ki', 'hugepages-2Mi', 'hugepages-32Mi', 'hugepages-512Mi', 'hugepages-1Gi', 'hugepages-16Gi'].all(k, !(k in self.requests) || (type(self.requests[k]) == int ? self.requests[k] >= 0 : size(self.requests[k]) <= 64 && !self.requests[k].matches('[eE].{4}') && isQuantity(self.requests[k]) && !self.requests[k].startsWith('-')))",message="resources.requests: cpu, memory, ephemeral-storage and hugepages must be quantities such as 500m or 64Mi, and not negative",fieldPath=".requests"
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || [['cpu', 'memory', 'ephemeral-storage', 'hugepages-64Ki', 'hugepages-2Mi', 'hugepages-32Mi', 'hugepages-512Mi', 'hugepages-1Gi', 'hugepages-16Gi']].all(known, self.requests.all(k, k in known || k.contains('/')))",message="resources.requests: each resource must be cpu, memory, ephemeral-storage, hugepages-<size> or domain/name",fieldPath=".requests"
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || self.requests.all(k, !k.contains('/') || int(self.requests[k]) >= 0)",message="resources.requests: an extended resource (domain/name) must be a whole number, and not negative",fieldPath=".requests"
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || !has(self.requests) || ['cpu', 'memory', 'ephemeral-storage'].all(k, !(k in self.limits) || !(k in self.requests) || ![self.limits[k], self.requests[k]].all(q, (type(q) == int || (size(q) <= 64 && !q.matches('[eE].{4}')))) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",message="resources.requests: must not be above resources.limits for cpu, memory and ephemeral-storage",fieldPath=".requests"
	// +kubebuilder:validation:XValidation:rule="!has(self.claims) || size(self.claims) == 0",message="resources.claims: resource claims are not supported",fieldPath=".claims"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// podTemplate shapes the pods.
	// +optional
	PodTemplate *workload.PodTemplate `json:"podTemplate,omitempty"`
}

// MyAppStatus says what has been seen of a MyApp.
type MyAppStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase sums the conditions up in one word.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// replicas is the number of pods.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// selector selects the pods, in the form that autoscalers read from /scale.
	// +optional
	Selector string `json:"selector,omitempty"`

	// conditions are Ready, Progressing and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MyApp is an application of equal pods behind a Service of the same name.
//
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 63",message="metadata.name: must be a DNS-1035 label, because a Service takes the name: at most 63 lower case letters, digits and -, beginning with a letter and ending with a letter or digit"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=myapps,singular=myapp,shortName=ma,categories=all
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MyApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec MyAppSpec `json:"spec"`

	// status is what has been seen.
	// +optional
	Status MyAppStatus `json:"status,omitempty"`
}

// MyAppList is a list of MyApps.
//
// +kubebuilder:object:root=true
type MyAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MyApp `json:"items"`
}
