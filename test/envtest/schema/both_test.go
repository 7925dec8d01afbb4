package schema

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds make one of either kind from what both have in common.
var kinds = map[string]func(spec string) *unstructured.Unstructured{
	"Memcached": memcached,
	"MyApp":     func(spec string) *unstructured.Unstructured { return myapp("image: nginx\n" + spec) },
}

const (
	imageRule = "must be an image reference [registry[:port]/]name[:tag][@digest], with a lower case name, a tag of at most 128 characters and a sha256, sha384 or sha512 digest, such as registry.example.com:5000/team/app:v1.2"
	// scylla-operator#2722, redpanda#1011
	nameRule      = "metadata.name: must be a DNS-1035 label, because a Service takes the name: at most 63 lower case letters, digits and -, beginning with a letter and ending with a letter or digit"
	keyRule       = ": each key must be a label key: an optional DNS prefix and a slash, then at most 63 characters of A-Z a-z 0-9 - _ . that begin and end alphanumeric"
	valueRule     = ": each value must be a label value: empty, or at most 63 characters of A-Z a-z 0-9 - _ . that begin and end alphanumeric"
	reservedRule  = "labels: app.kubernetes.io/name, instance, managed-by, version and component, and pod-template-hash are set by the operator and cannot be changed"
	objectRule    = "must be the name of an object: a DNS-1123 subdomain of at most 253 lower case letters, digits, - and ."
	secretRule    = "imagePullSecrets: each name must be that of a Secret: a DNS-1123 subdomain of at most 253 lower case letters, digits, - and ."
	secretDotRule = "imagePullSecrets: each name must be that of a Secret: between dots, it must begin and end with a letter or digit"
	quantityRule  = ": cpu, memory, ephemeral-storage and hugepages must be quantities such as 500m or 64Mi, and not negative"
	resourceRule  = ": each resource must be cpu, memory, ephemeral-storage, hugepages-<size> or domain/name"
	extendedRule  = ": an extended resource (domain/name) must be a whole number, and not negative"
	requestRule   = "resources.requests: must not be above resources.limits for cpu, memory and ephemeral-storage"
)

var _ = Describe("Either kind", func() {
	for kind, of := range kinds {
		DescribeTable("refuses, as "+kind+",", func(ctx SpecContext, spec, field, rule string) {
			Expect(k8s.Create(ctx, of(spec), client.DryRunAll)).To(beRefused(field, rule))
		},
			Entry("an unknown deletion policy", `deletionPolicy: Keep`, "spec.deletionPolicy", `supported values: "Delete", "Orphan"`),
			Entry("a suspend that is no boolean", `suspend: "yes"`, "spec.suspend", `spec.suspend in body must be of type boolean: "string"`),
			Entry("a label key with a blank", `podTemplate: {labels: {"a b": c}}`, "spec.podTemplate.labels", "labels"+keyRule),
			Entry("a label key that is empty", `podTemplate: {labels: {"": c}}`, "spec.podTemplate.labels", "labels"+keyRule),
			Entry("a label key with a bad prefix", `podTemplate: {labels: {"A_B/c": d}}`, "spec.podTemplate.labels", "labels"+keyRule),
			Entry("a label key that is too long", `podTemplate: {labels: {`+repeated("k", 64)+`: c}}`, "spec.podTemplate.labels", "labels"+keyRule),
			Entry("a label value with a blank", `podTemplate: {labels: {a: "b c"}}`, "spec.podTemplate.labels", "labels"+valueRule),
			Entry("a label value that ends with a dash", `podTemplate: {labels: {a: "b-"}}`, "spec.podTemplate.labels", "labels"+valueRule),
			Entry("a label value that begins with a dot", `podTemplate: {labels: {a: ".b"}}`, "spec.podTemplate.labels", "labels"+valueRule),
			Entry("a label value with an umlaut at its end", `podTemplate: {labels: {a: `+repeated("b", 62)+`ü}}`, "spec.podTemplate.labels", "labels"+valueRule),
			Entry("a label value that is too long", `podTemplate: {labels: {a: `+repeated("b", 64)+`}}`, "spec.podTemplate.labels", "labels"+valueRule),
			Entry("a label value that is a number", `podTemplate: {labels: {a: 1}}`, "spec.podTemplate.labels.a", `spec.podTemplate.labels.a in body must be of type string: "integer"`),
			Entry("the name label", `podTemplate: {labels: {app.kubernetes.io/name: a}}`, "spec.podTemplate.labels", reservedRule),
			Entry("the instance label", `podTemplate: {labels: {app.kubernetes.io/instance: a}}`, "spec.podTemplate.labels", reservedRule),
			Entry("the manager label", `podTemplate: {labels: {app.kubernetes.io/managed-by: a}}`, "spec.podTemplate.labels", reservedRule),
			Entry("the version label", `podTemplate: {labels: {app.kubernetes.io/version: a}}`, "spec.podTemplate.labels", reservedRule),
			Entry("the component label", `podTemplate: {labels: {app.kubernetes.io/component: a}}`, "spec.podTemplate.labels", reservedRule),
			Entry("the Deployment's hash label", `podTemplate: {labels: {pod-template-hash: a}}`, "spec.podTemplate.labels", reservedRule),
			Entry("an annotation key with a blank", `podTemplate: {annotations: {"a b": c}}`, "spec.podTemplate.annotations",
				"annotations: each key must be an annotation key: an optional DNS prefix and a slash, then at most 63 characters of A-Z a-z 0-9 - _ . that begin and end alphanumeric"),
			Entry("annotations that are too long", `podTemplate: {annotations: {a: "`+repeated("b", 262144)+`"}}`, "spec.podTemplate.annotations",
				"annotations: all keys and values together must not be longer than 262144 characters"),
			Entry("a node selector's bad key", `podTemplate: {nodeSelector: {"a b": c}}`, "spec.podTemplate.nodeSelector", "nodeSelector"+keyRule),
			Entry("a node selector's bad value", `podTemplate: {nodeSelector: {a: "b c"}}`, "spec.podTemplate.nodeSelector", "nodeSelector"+valueRule),
			Entry("a priority class in upper case", `podTemplate: {priorityClassName: High}`, "spec.podTemplate.priorityClassName", objectRule),
			Entry("a service account with an underscore", `podTemplate: {serviceAccountName: a_b}`, "spec.podTemplate.serviceAccountName", objectRule),
			Entry("a service account's name that is too long", `podTemplate: {serviceAccountName: `+repeated("a", 254)+`}`, "spec.podTemplate.serviceAccountName", "may not be more than 253 bytes"),
			Entry("a pull secret in upper case", `podTemplate: {imagePullSecrets: [{name: A}]}`, "spec.podTemplate.imagePullSecrets", secretRule),
			Entry("a pull secret without a name", `podTemplate: {imagePullSecrets: [{}]}`, "spec.podTemplate.imagePullSecrets", secretRule),
			Entry("a pull secret with an empty part", `podTemplate: {imagePullSecrets: [{name: a..b}]}`, "spec.podTemplate.imagePullSecrets", secretDotRule),
			Entry("a pull secret with a dash before a dot", `podTemplate: {imagePullSecrets: [{name: a-.b}]}`, "spec.podTemplate.imagePullSecrets", secretDotRule),
			Entry("a pull secret named twice", `podTemplate: {imagePullSecrets: [{name: a}, {name: a}]}`, "spec.podTemplate.imagePullSecrets[1]", `Duplicate value: {"name":"a"}`),
			Entry("a spread asked for twice", `podTemplate: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}`,
				"spec.podTemplate.topologySpreadConstraints[1]", `Duplicate value: {"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}`),
			Entry("a spread without a skew", `podTemplate: {topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}`,
				"spec.podTemplate.topologySpreadConstraints[0].maxSkew", "Required value"),
			Entry("a quantity that is none", `resources: {limits: {memory: much}}`, "spec.resources.limits.memory",
				`spec.resources.limits.memory in body should match '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'`),
			Entry("a quantity that no Go program can read", `resources: {limits: {memory: 1e1.5}}`, "spec.resources.limits", "resources.limits"+quantityRule),
			Entry("a limit that would take hours to read", `resources: {limits: {memory: "1e999999999"}}`, "spec.resources.limits", "resources.limits"+quantityRule),
			Entry("a request that would take hours to read", `resources: {requests: {cpu: "1E+99999999"}, limits: {cpu: 1}}`, "spec.resources.requests", "resources.requests"+quantityRule),
			Entry("a device count that would take hours to read", `resources: {limits: {example.com/gpu: "1e999999999"}}`, "spec.resources", "evaluating rule: resources.limits"+extendedRule),
			Entry("a limit of too many digits", `resources: {limits: {memory: "`+repeated("1", 65)+`"}}`, "spec.resources.limits", "resources.limits"+quantityRule),
			Entry("a fraction without quotes", `resources: {requests: {cpu: 0.5}}`, "spec.resources.requests.cpu", `must be of type integer,string: "number"`),
			Entry("a negative limit", `resources: {limits: {cpu: "-1"}}`, "spec.resources.limits", "resources.limits"+quantityRule),
			Entry("a negative whole limit", `resources: {limits: {cpu: -1}}`, "spec.resources.limits", "resources.limits"+quantityRule),
			Entry("a negative request", `resources: {requests: {memory: -64Mi}}`, "spec.resources.requests", "resources.requests"+quantityRule),
			Entry("an unknown resource", `resources: {limits: {ram: 1Gi}}`, "spec.resources.limits", "resources.limits"+resourceRule),
			Entry("an unknown request", `resources: {requests: {disk: 1Gi}}`, "spec.resources.requests", "resources.requests"+resourceRule),
			Entry("a part of a device", `resources: {limits: {example.com/gpu: 500m}}`, "spec.resources", "evaluating rule: resources.limits"+extendedRule),
			Entry("a negative number of devices", `resources: {limits: {example.com/gpu: -1}}`, "spec.resources.limits", "resources.limits"+extendedRule),
			Entry("a request for cpu above its limit", `resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}`, "spec.resources.requests", requestRule),
			Entry("a request for memory above its limit", `resources: {requests: {memory: 1Gi}, limits: {memory: 1G}}`, "spec.resources.requests", requestRule),
			Entry("a request for storage above its limit", `resources: {requests: {ephemeral-storage: 2}, limits: {ephemeral-storage: "1"}}`, "spec.resources.requests", requestRule),
			Entry("resource claims", `resources: {claims: [{name: a}]}`, "spec.resources.claims", "resources.claims: resource claims are not supported"),
			Entry("an image with a blank", `image: "nginx 1"`, "spec.image", imageRule),
			Entry("an image in upper case", `image: Nginx`, "spec.image", imageRule),
			Entry("an image with an empty tag", `image: "nginx:"`, "spec.image", imageRule),
			Entry("an image with a short digest", `image: nginx@sha256:0a`, "spec.image", imageRule),
			Entry("an image with a scheme", `image: https://r.example.com/a`, "spec.image", imageRule),
			Entry("an image that is an ID", `image: `+repeated("a", 64), "spec.image", "must not be 64 hexadecimal digits alone, which runtimes take for an image ID; add a tag"),
			Entry("an image's name that is too long", `image: `+repeated("a", 300), "spec.image", "must not have a repository name of more than 255 characters"),
			Entry("an image that is much too long", `image: `+repeated("a", 1025), "spec.image", "may not be more than 1024 bytes"),
			Entry("an empty image", `image: ""`, "spec.image", "spec.image in body should be at least 1 chars long"),
		)

		DescribeTable("refuses, as "+kind+", a name", func(ctx SpecContext, name, rule string) {
			u := of("")
			u.SetName(name)
			Expect(k8s.Create(ctx, u, client.DryRunAll)).To(MatchError(ContainSubstring(rule)))
		},
			Entry("that begins with a digit", "7up", nameRule),
			Entry("that has a dot", "a.b", nameRule),
			Entry("that is longer than a Service's", repeated("a", 64), nameRule),
			Entry("that ends with a dash", "a-", "a lowercase RFC 1123 subdomain must consist of"),
			Entry("in upper case", "A", "a lowercase RFC 1123 subdomain must consist of"),
		)

		DescribeTable("accepts, as "+kind+",", func(ctx SpecContext, spec string) {
			Expect(k8s.Create(ctx, of(spec), client.DryRunAll)).To(Succeed())
		},
			Entry("the deletion policy Orphan", `deletionPolicy: Orphan`),
			Entry("suspension", `suspend: true`),
			Entry("an empty pod template", `podTemplate: {}`),
			Entry("a label of the longest key and value", `podTemplate: {labels: {example.com/`+repeated("k", 63)+`: `+repeated("v", 63)+`}}`),
			Entry("a label with an empty value", `podTemplate: {labels: {a: ""}}`),
			Entry("a label in all characters", `podTemplate: {labels: {example.com/a-B_c.9Z: 0_a.B-z}}`),
			Entry("other recommended labels", `podTemplate: {labels: {app.kubernetes.io/part-of: shop}}`),
			Entry("an annotation with an upper case prefix", `podTemplate: {annotations: {Example.com/a: "any text, ü too\n"}}`),
			Entry("a node selector", `podTemplate: {nodeSelector: {kubernetes.io/arch: amd64}}`),
			Entry("a toleration of everything", `podTemplate: {tolerations: [{operator: Exists}]}`),
			Entry("ten pull secrets", `podTemplate: {imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d.e-f.9}, {name: e}, {name: f}, {name: g}, {name: h}, {name: i}, {name: j}]}`),
			Entry("a priority class and an account", `podTemplate: {priorityClassName: system-node-critical, serviceAccountName: my.account}`),
			Entry("an empty account", `podTemplate: {serviceAccountName: ""}`),
			Entry("equal requests and limits", `resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1000m, memory: 1024Mi}}`),
			Entry("requests alone", `resources: {requests: {cpu: ".5", memory: "1e9"}}`),
			Entry("devices and huge pages", `resources: {limits: {example.com/gpu: "2", hugepages-2Mi: 64Mi, memory: 1Gi}}`),
			Entry("a limit of zero", `resources: {limits: {cpu: 0}}`),
			Entry("an image with port, path, tag and digest", `image: localhost:5000/org/my_app:V1@sha256:`+repeated("0a", 32)),
			Entry("an image with a long name", `image: quay.io/`+repeated("a", 255)),
		)
	}
})
