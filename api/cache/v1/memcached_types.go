package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example-inc/memcached-operator/api/workload"
)

// memcached wants an item to be at most half of its memory, which it counts in whole MiB; the last rule
// reckons as the operator does: maxMemory, or the limit less a fifth (at least 16Mi), or memcached's default.
//
// Each rule here and below that parses a quantity looks first that it is short and has an exponent of at most three
// characters: parsing 1e999999999 would keep the API server and the operator busy for hours.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemory) || !self.?resources.?limits[?'memory'].hasValue() || ![self.maxMemory, self.resources.limits['memory']].all(q, (type(q) == int || (size(q) <= 64 && !q.matches('[eE].{4}')))) || quantity(string(self.maxMemory)).compareTo(quantity(string(self.resources.limits['memory']))) <= 0",message="maxMemory: must not be above resources.limits.memory",fieldPath=".maxMemory"
// +kubebuilder:validation:XValidation:rule="!has(self.maxItemSize) || !(type(self.maxItemSize) == int || (size(self.maxItemSize) <= 64 && !self.maxItemSize.matches('[eE].{4}'))) || (has(self.maxMemory) && !(type(self.maxMemory) == int || (size(self.maxMemory) <= 64 && !self.maxMemory.matches('[eE].{4}')))) || (self.?resources.?limits[?'memory'].hasValue() && !(type(self.resources.limits['memory']) == int || (size(self.resources.limits['memory']) <= 64 && !self.resources.limits['memory'].matches('[eE].{4}')))) || [double((2 * int(quantity(string(self.maxItemSize)).asApproximateFloat()) + 1048575) / 1048576 * 1048576)].all(need, has(self.maxMemory) ? quantity(string(self.maxMemory)).asApproximateFloat() >= need : self.?resources.?limits[?'memory'].hasValue() ? [quantity(string(self.resources.limits['memory'])).asApproximateFloat()].all(limit, 4.0 * limit > 5.0 * (need - 1.0) && limit - 16777216.0 >= need) : need <= 67108864.0)",message="maxItemSize: must not be more than half of the memory for items: maxMemory, or else the memory limit less a fifth (at least 16Mi), or else 64Mi",fieldPath=".maxItemSize"

// MemcachedSpec says how many memcached servers are wanted, and how they are set up.
type MemcachedSpec struct {
	// size is the number of memcached pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Size *int32 `json:"size,omitempty"`

	// image of memcached. Unset means the operator's default image.
	// +optional
	Image workload.ImageReference `json:"image,omitempty"`

	// maxMemory is the memory for items (memcached -m), rounded down to MiB.
	// Unset means the memory limit less overhead, or memcached's own default where there is no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(type(self) == int || (size(self) <= 64 && !self.matches('[eE].{4}'))) && isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Pi')) <= 0",message="maxMemory: must be a quantity from 1Mi to 1Pi, such as 64Mi"
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
	// +kubebuilder:validation:XValidation:rule="(type(self) == int || (size(self) <= 64 && !self.matches('[eE].{4}'))) && isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1Ki')) >= 0 && quantity(string(self)).compareTo(quantity('1Gi')) <= 0",message="maxItemSize: must be a quantity from 1Ki to 1Gi, such as 1Mi"
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// extraArgs are handed to memcached as they are, after the operator's own arguments.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.exists(a, a.matches('^-[AMkhiVrvLCSFXW]*[apsUlumctIPdZ]'))",message="extraArgs: must not set what the operator sets: -a -c -d -I -l -m -p -P -s -t -u -U -Z, alone or combined with other flags"
	// +kubebuilder:validation:XValidation:rule="!self.exists(a, a.matches('^--(?:po|ud|unix-|da|us|memory-l|c(?:$|=|o)|t(?:$|=|h)|max-i|pi|enable-ss|listen(?:$|=))'))",message="extraArgs: must not set what the operator sets: --port --udp-port --unix-socket --unix-mask --listen --daemon --user --memory-limit --conn-limit --threads --max-item-size --pidfile --enable-ssl, in full or abbreviated"
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
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || ['cpu', 'memory', 'ephemeral-storage', 'hugepages-64Ki', 'hugepages-2Mi', 'hugepages-32Mi', 'hugepages-512Mi', 'hugepages-1Gi', 'hugepages-16Gi'].all(k, !(k in self.limits) || (type(self.limits[k]) == int ? self.limits[k] >= 0 : size(self.limits[k]) <= 64 && !self.limits[k].matches('[eE].{4}') && isQuantity(self.limits[k]) && !self.limits[k].startsWith('-')))",message="resources.limits: cpu, memory, ephemeral-storage and hugepages must be quantities such as 500m or 64Mi, and not negative",fieldPath=".limits"
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || [['cpu', 'memory', 'ephemeral-storage', 'hugepages-64Ki', 'hugepages-2Mi', 'hugepages-32Mi', 'hugepages-512Mi', 'hugepages-1Gi', 'hugepages-16Gi']].all(known, self.limits.all(k, k in known || k.contains('/')))",message="resources.limits: each resource must be cpu, memory, ephemeral-storage, hugepages-<size> or domain/name",fieldPath=".limits"
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || self.limits.all(k, !k.contains('/') || int(self.limits[k]) >= 0)",message="resources.limits: an extended resource (domain/name) must be a whole number, and not negative",fieldPath=".limits"
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || ['cpu', 'memory', 'ephemeral-storage', 'hugepages-64Ki', 'hugepages-2Mi', 'hugepages-32Mi', 'hugepages-512Mi', 'hugepages-1Gi', 'hugepages-16Gi'].all(k, !(k in self.requests) || (type(self.requests[k]) == int ? self.requests[k] >= 0 : size(self.requests[k]) <= 64 && !self.requests[k].matches('[eE].{4}') && isQuantity(self.requests[k]) && !self.requests[k].startsWith('-')))",message="resources.requests: cpu, memory, ephemeral-storage and hugepages must be quantities such as 500m or 64Mi, and not negative",fieldPath=".requests"
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || [['cpu', 'memory', 'ephemeral-storage', 'hugepages-64Ki', 'hugepages-2Mi', 'hugepages-32Mi', 'hugepages-512Mi', 'hugepages-1Gi', 'hugepages-16Gi']].all(known, self.requests.all(k, k in known || k.contains('/')))",message="resources.requests: each resource must be cpu, memory, ephemeral-storage, hugepages-<size> or domain/name",fieldPath=".requests"
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || self.requests.all(k, !k.contains('/') || int(self.requests[k]) >= 0)",message="resources.requests: an extended resource (domain/name) must be a whole number, and not negative",fieldPath=".requests"
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || !has(self.requests) || ['cpu', 'memory', 'ephemeral-storage'].all(k, !(k in self.limits) || !(k in self.requests) || ![self.limits[k], self.requests[k]].all(q, (type(q) == int || (size(q) <= 64 && !q.matches('[eE].{4}')))) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",message="resources.requests: must not be above resources.limits for cpu, memory and ephemeral-storage",fieldPath=".requests"
	// +kubebuilder:validation:XValidation:rule="!has(self.claims) || size(self.claims) == 0",message="resources.claims: resource claims are not supported",fieldPath=".claims"
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || !('memory' in self.limits) || !(type(self.limits['memory']) == int || (size(self.limits['memory']) <= 64 && !self.limits['memory'].matches('[eE].{4}'))) || quantity(string(self.limits['memory'])).compareTo(quantity('32Mi')) >= 0",message="resources.limits: memory must be at least 32Mi, or memcached cannot start",fieldPath=".limits"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// podTemplate shapes the pods.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.labels) || !self.labels.exists(k, k in ['app', 'memcached_cr'])",message="podTemplate.labels: app and memcached_cr are set by the operator and cannot be changed",fieldPath=".labels"
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
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 63",message="metadata.name: must be a DNS-1035 label, because a Service takes the name: at most 63 lower case letters, digits and -, beginning with a letter and ending with a letter or digit"
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
