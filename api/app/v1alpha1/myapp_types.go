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

// MyAppSpec says what is run, how often, and where it listens.
type MyAppSpec struct {
	// image of the application.
	Image string `json:"image"`

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
