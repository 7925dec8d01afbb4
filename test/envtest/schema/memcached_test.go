package schema

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	maxMemoryRule = "maxMemory: must be a quantity from 1Mi to 1Pi, such as 64Mi"
	itemRule      = "maxItemSize: must be a quantity from 1Ki to 1Gi, such as 1Mi"
	halfRule      = "maxItemSize: must not be more than half of the memory for items: maxMemory, or else the memory limit less a fifth (at least 16Mi), or else 64Mi"
	shortRule     = "extraArgs: must not set what the operator sets: -a -c -d -I -l -m -p -P -s -t -u -U -Z, alone or combined with other flags"
	longRule      = "extraArgs: must not set what the operator sets: --port --udp-port --unix-socket --unix-mask --listen --daemon --user --memory-limit --conn-limit --threads --max-item-size --pidfile --enable-ssl, in full or abbreviated"
	ownRule       = "podTemplate.labels: app and memcached_cr are set by the operator and cannot be changed"
)

var _ = Describe("Memcached", func() {
	DescribeTable("refuses", func(ctx SpecContext, spec, field, rule string) {
		Expect(k8s.Create(ctx, memcached(spec), client.DryRunAll)).To(beRefused(field, rule))
	},
		Entry("a negative size", `size: -1`, "spec.size", "spec.size in body should be greater than or equal to 0"),
		Entry("a size that is a text", `size: "3"`, "spec.size", `spec.size in body must be of type integer: "string"`),
		Entry("a size beyond 32 bits", `size: 3000000000`, ".spec.size", "should be less than or equal to 2147483647"),
		Entry("no connections", `maxConnections: 0`, "spec.maxConnections", "spec.maxConnections in body should be greater than or equal to 1"),
		Entry("too many connections", `maxConnections: 1000001`, "spec.maxConnections", "spec.maxConnections in body should be less than or equal to 1000000"),
		Entry("no threads", `threads: 0`, "spec.threads", "spec.threads in body should be greater than or equal to 1"),
		Entry("too many threads", `threads: 65`, "spec.threads", "spec.threads in body should be less than or equal to 64"),
		Entry("too little memory", `maxMemory: 1023Ki`, "spec.maxMemory", maxMemoryRule),
		Entry("memory in bytes by mistake", `maxMemory: 64`, "spec.maxMemory", maxMemoryRule),
		Entry("negative memory", `maxMemory: -64Mi`, "spec.maxMemory", maxMemoryRule),
		Entry("memory that no machine has", `maxMemory: 2Pi`, "spec.maxMemory", maxMemoryRule),
		Entry("memory that no Go program can read", `maxMemory: 1e1.5`, "spec.maxMemory", maxMemoryRule),
		Entry("memory that would take hours to read", `{maxMemory: "1e999999999", maxItemSize: 1Mi, resources: {limits: {memory: 64Mi}}}`, "spec.maxMemory", maxMemoryRule),
		Entry("items that would take hours to read", `{maxItemSize: "1e-99999999", maxMemory: 64Mi}`, "spec.maxItemSize", itemRule),
		Entry("memory above the limit", `{maxMemory: 65Mi, resources: {limits: {memory: 64Mi}}}`, "spec.maxMemory", "maxMemory: must not be above resources.limits.memory"),
		Entry("memory a little above the limit", `{maxMemory: 1Gi, resources: {limits: {memory: 1G}}}`, "spec.maxMemory", "maxMemory: must not be above resources.limits.memory"),
		Entry("a limit in which memcached cannot start", `resources: {limits: {memory: 31Mi}}`, "spec.resources.limits", "resources.limits: memory must be at least 32Mi, or memcached cannot start"),
		Entry("items that are too small", `maxItemSize: 1023`, "spec.maxItemSize", itemRule),
		Entry("items that are too large", `{maxItemSize: 1025Mi, maxMemory: 10Gi}`, "spec.maxItemSize", itemRule),
		Entry("negative items", `maxItemSize: -1Mi`, "spec.maxItemSize", itemRule),
		Entry("items above half of the default memory", `maxItemSize: 33Mi`, "spec.maxItemSize", halfRule),
		Entry("items above half of maxMemory", `{maxItemSize: 65Mi, maxMemory: 128Mi}`, "spec.maxItemSize", halfRule),
		Entry("items above half of maxMemory in whole MiB", `{maxItemSize: 1024Ki, maxMemory: 2047Ki}`, "spec.maxItemSize", halfRule),
		Entry("items above half of a small limit less 16Mi", `{maxItemSize: 25Mi, resources: {limits: {memory: 64Mi}}}`, "spec.maxItemSize", halfRule),
		Entry("items above half of a large limit less a fifth", `{maxItemSize: 401Mi, resources: {limits: {memory: 1000Mi}}}`, "spec.maxItemSize", halfRule),
		Entry("an empty argument", `extraArgs: [""]`, "spec.extraArgs[0]", "spec.extraArgs[0] in body should be at least 1 chars long"),
		Entry("an argument that is too long", `extraArgs: [`+repeated("a", 257)+`]`, "spec.extraArgs[0]", "may not be more than 256 bytes"),
		Entry("the port", `extraArgs: [-p, "11212"]`, "spec.extraArgs", shortRule),
		Entry("the port in one word", `extraArgs: [-p11212]`, "spec.extraArgs", shortRule),
		Entry("the UDP port", `extraArgs: [-U, "11211"]`, "spec.extraArgs", shortRule),
		Entry("a socket", `extraArgs: [-s, /tmp/a]`, "spec.extraArgs", shortRule),
		Entry("a socket's mask", `extraArgs: [-a, "700"]`, "spec.extraArgs", shortRule),
		Entry("the address", `extraArgs: [-l, 127.0.0.1]`, "spec.extraArgs", shortRule),
		Entry("a daemon", `extraArgs: [-d]`, "spec.extraArgs", shortRule),
		Entry("the user", `extraArgs: [-u, root]`, "spec.extraArgs", shortRule),
		Entry("memory after another flag", `extraArgs: [-vm64]`, "spec.extraArgs", shortRule),
		Entry("connections, last of several", `extraArgs: [-v, -o, modern, -c100]`, "spec.extraArgs", shortRule),
		Entry("threads", `extraArgs: [-t, "8"]`, "spec.extraArgs", shortRule),
		Entry("the item size", `extraArgs: [-I, 2m]`, "spec.extraArgs", shortRule),
		Entry("a pid file", `extraArgs: [-P, /tmp/pid]`, "spec.extraArgs", shortRule),
		Entry("TLS among flags", `extraArgs: [-vvZ]`, "spec.extraArgs", shortRule),
		Entry("the port by its long name", `extraArgs: [--port=1]`, "spec.extraArgs", longRule),
		Entry("the port abbreviated", `extraArgs: [--po, "1"]`, "spec.extraArgs", longRule),
		Entry("the UDP port by its long name", `extraArgs: [--udp-port=1]`, "spec.extraArgs", longRule),
		Entry("a socket by its long name", `extraArgs: [--unix-socket=/tmp/a]`, "spec.extraArgs", longRule),
		Entry("the address by its long name", `extraArgs: [--listen, 127.0.0.1]`, "spec.extraArgs", longRule),
		Entry("a daemon by its long name", `extraArgs: [--daemon]`, "spec.extraArgs", longRule),
		Entry("the user by its long name", `extraArgs: [--user=root]`, "spec.extraArgs", longRule),
		Entry("memory by its long name", `extraArgs: [--memory-limit=64]`, "spec.extraArgs", longRule),
		Entry("connections by their long name", `extraArgs: [--conn-limit=64]`, "spec.extraArgs", longRule),
		Entry("threads by their long name", `extraArgs: [--threads=8]`, "spec.extraArgs", longRule),
		Entry("the item size by its long name", `extraArgs: [--max-item-size=2m]`, "spec.extraArgs", longRule),
		Entry("a pid file by its long name", `extraArgs: [--pidfile=/tmp/pid]`, "spec.extraArgs", longRule),
		Entry("TLS by its long name", `extraArgs: [--enable-ssl]`, "spec.extraArgs", longRule),
		Entry("its own label", `podTemplate: {labels: {app: a}}`, "spec.podTemplate.labels", ownRule),
		Entry("its own instance label", `podTemplate: {labels: {memcached_cr: a}}`, "spec.podTemplate.labels", ownRule),
	)

	DescribeTable("accepts", func(ctx SpecContext, spec string) {
		Expect(k8s.Create(ctx, memcached(spec), client.DryRunAll)).To(Succeed())
	},
		Entry("nothing at all", ``),
		Entry("an empty spec", `{}`),
		Entry("no pods", `size: 0`),
		Entry("many pods", `size: 100000`),
		Entry("bounds of connections and threads", `{maxConnections: 1000000, threads: 64}`),
		Entry("the least memory", `maxMemory: 1Mi`),
		Entry("memory in bytes", `maxMemory: 67108864`),
		Entry("memory in thousands", `maxMemory: "1e9"`),
		Entry("memory of the whole limit", `{maxMemory: 64Mi, resources: {limits: {memory: 64Mi}}}`),
		Entry("memory above a request", `{maxMemory: 64Mi, resources: {requests: {memory: 32Mi}}}`),
		Entry("the least limit", `resources: {limits: {memory: 32Mi}}`),
		Entry("the smallest items", `maxItemSize: 1Ki`),
		Entry("half of the default memory", `maxItemSize: 32Mi`),
		Entry("the largest items", `{maxItemSize: 1Gi, maxMemory: 2Gi}`),
		Entry("half of a small limit less 16Mi", `{maxItemSize: 24Mi, resources: {limits: {memory: 64Mi}}}`),
		Entry("half of a large limit less a fifth", `{maxItemSize: 400Mi, resources: {limits: {memory: 1000Mi}}}`),
		Entry("items under maxMemory, whatever the limit", `{maxItemSize: 64Mi, maxMemory: 128Mi, resources: {limits: {memory: 128Mi}}}`),
		Entry("other arguments", `extraArgs: [-vv, -M, -k, -C, -f, "1.25", -n, "48", -R20, -b, "1024", -B, ascii, -o, "modern,no_lru_crawler", -e, /data/file:64m]`),
		Entry("other long arguments", `extraArgs: [--verbose, --disable-evictions, --slab-growth-factor=1.25, --listen-backlog=1024, --protocol=ascii, --memory-file=/data/f, --enable-shutdown, --max-reqs-per-event=20, --extended=modern]`),
		Entry("values that look like owned letters", `extraArgs: [-o, p, -D, ":"]`),
		Entry("an image", `image: memcached:1.6.39-alpine`),
	)
})
