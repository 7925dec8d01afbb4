package workload

// The types below are aliases: to Go they are strings, and to the CRDs strings with rules, written once for all fields.

// ObjectName is the name of another object, or empty.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of an object: a DNS-1123 subdomain of at most 253 lower case letters, digits, - and ."
type ObjectName = string

// ImageReference is an image as a container runtime understands it: the grammar of distribution references.
// The second rule is the length of the repository within its registry, "library/" included, which Docker Hub adds.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="self.matches('^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:[.][a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?|[[](?:[a-fA-F0-9:]+[]]:[0-9]+|[a-fA-F0-9:]*[A-F:][a-fA-F0-9:]*[]]))/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(?:@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?$')",message="must be an image reference [registry[:port]/]name[:tag][@digest], with a lower case name, a tag of at most 128 characters and a sha256, sha384 or sha512 digest, such as registry.example.com:5000/team/app:v1.2"
// +kubebuilder:validation:XValidation:rule="!self.matches('^[a-f0-9]{64}$')",message="must not be 64 hexadecimal digits alone, which runtimes take for an image ID; add a tag"
// +kubebuilder:validation:XValidation:rule="self.matches('^(?:[^/_]*[.:A-Z][^/_]*/|localhost/)?[^:@]{1,255}(?:[:@][^/]*)?$') && !self.matches('^(?:(?:index[.])?docker[.]io/)?[^/:@]{248,}(?:[:@]|$)')",message="must not have a repository name of more than 255 characters"
type ImageReference = string
