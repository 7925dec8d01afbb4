package schema

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const envRule = "env: each name must be that of an environment variable: letters, digits, _ - and ., not beginning with a digit, and not . or .."

var _ = Describe("MyApp", func() {
	DescribeTable("refuses", func(ctx SpecContext, spec, field, rule string) {
		Expect(k8s.Create(ctx, myapp(spec), client.DryRunAll)).To(beRefused(field, rule))
	},
		Entry("no spec", ``, "spec", "Required value"),
		Entry("no image", `{}`, "spec.image", "Required value"),
		Entry("no replicas", `{image: nginx, replicas: 0}`, "spec.replicas", "spec.replicas in body should be greater than or equal to 1"),
		Entry("too many replicas", `{image: nginx, replicas: 101}`, "spec.replicas", "spec.replicas in body should be less than or equal to 100"),
		Entry("replicas that are a text", `{image: nginx, replicas: three}`, "spec.replicas", `spec.replicas in body must be of type integer: "string"`),
		Entry("port 0", `{image: nginx, port: 0}`, "spec.port", "spec.port in body should be greater than or equal to 1"),
		Entry("port 65536", `{image: nginx, port: 65536}`, "spec.port", "spec.port in body should be less than or equal to 65535"),
		Entry("a variable that begins with a digit", `{image: nginx, env: {1A: b}}`, "spec.env", envRule),
		Entry("a variable with a blank", `{image: nginx, env: {"A B": b}}`, "spec.env", envRule),
		Entry("a variable with an equals sign", `{image: nginx, env: {"A=B": b}}`, "spec.env", envRule),
		Entry("a variable without a name", `{image: nginx, env: {"": b}}`, "spec.env", envRule),
		Entry("a variable named .", `{image: nginx, env: {.: b}}`, "spec.env", envRule),
		Entry("a variable named ..", `{image: nginx, env: {..: b}}`, "spec.env", envRule),
		Entry("a variable that is a number", `{image: nginx, env: {A: 1}}`, "spec.env.A", `spec.env.A in body must be of type string: "integer"`),
		Entry("variables as a list", `{image: nginx, env: [{name: A, value: b}]}`, "spec.env", `spec.env in body must be of type object: "array"`),
		Entry("a variable that Linux cannot take", `{image: nginx, env: {A: "`+repeated("b", 131000)+`"}}`, "spec.env",
			"env: a name and its value must not be longer than 131000 characters together, the most that Linux takes"),
	)

	DescribeTable("accepts", func(ctx SpecContext, spec string) {
		Expect(k8s.Create(ctx, myapp(spec), client.DryRunAll)).To(Succeed())
	},
		Entry("an image alone", `image: nginx`),
		Entry("the tutorial's test", `{image: "nginx:latest", replicas: 3}`),
		Entry("the tutorial's sample", `{image: "registry.example.com/myapp:v1.0.0", replicas: 3, port: 8080, env: {ENVIRONMENT: production, LOG_LEVEL: info}}`),
		Entry("the lower bounds", `{image: nginx, replicas: 1, port: 1}`),
		Entry("the upper bounds", `{image: nginx, replicas: 100, port: 65535}`),
		Entry("variables in all characters", `{image: nginx, env: {_A-b.9: "", -: a, a.b: c, ...: d}}`),
		Entry("a value of any text", `{image: nginx, env: {A: "ü = $(B)\n"}}`),
		Entry("a large value", `{image: nginx, env: {A: "`+repeated("b", 130999)+`"}}`),
		Entry("a label that only Memcached reserves", `{image: nginx, podTemplate: {labels: {app: shop}}}`),
	)
})
