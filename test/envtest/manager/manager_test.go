package manager_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/suite"
)

var _ = Describe("The manager", func() {
	var env *suite.Env
	BeforeEach(func(ctx SpecContext) { env = on.Env(ctx) }, NodeTimeout(time.Minute))

	create := func(ctx context.Context, namespace string) client.Object {
		GinkgoHelper()
		mc := suite.Memcached.New(namespace)
		Expect(env.Client.Create(ctx, mc)).To(Succeed())
		return mc
	}
	// acts waits until somebody has made the Deployment of a new Memcached.
	acts := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		Eventually(ctx, env.Komega(ctx).Get(suite.Deployment(create(ctx, namespace)))).Should(Succeed())
	}
	token := func(ctx context.Context, name string) string {
		GinkgoHelper()
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: env.Namespace}}
		Expect(env.Client.Create(ctx, account)).To(Succeed())
		request := &authenticationv1.TokenRequest{}
		Expect(env.Client.SubResource("token").Create(ctx, account, request)).To(Succeed())
		return request.Status.Token
	}

	It("serves metrics over HTTPS, to whom the API server allows it", func(ctx SpecContext) {
		p := start(ctx, env.Namespace, nil, "--watch-namespaces="+env.Namespace)
		p.ready(ctx)
		reader, stranger := token(ctx, "reader"), token(ctx, "stranger")
		bind(ctx, []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
			rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: env.Namespace})

		url := "https://" + p.metrics + "/metrics"
		for who, tc := range map[string]struct {
			token string
			want  int
		}{
			"nobody":     {"", http.StatusUnauthorized},
			"a stranger": {stranger, http.StatusForbidden},
			"a reader":   {reader, http.StatusOK},
		} {
			Eventually(ctx, func() (int, error) { return ask(ctx, url, tc.token) }).Should(Equal(tc.want), who)
		}
		plain, err := ask(ctx, "http://"+p.metrics+"/metrics", reader)
		Expect(err != nil || plain == http.StatusBadRequest).To(BeTrue(), "plain HTTP is answered with %d", plain)
		Expect(ask(ctx, "http://"+p.probes+"/healthz", "")).To(Equal(http.StatusOK))
	}, limit)

	It("gives the leadership up when it is asked to end (opentelemetry-operator#3058, dragonfly-operator#577)", func(ctx SpecContext) {
		first := start(ctx, env.Namespace, nil, "--watch-namespaces="+env.Namespace)
		acts(ctx, env.Namespace)
		second := start(ctx, env.Namespace, nil, "--watch-namespaces="+env.Namespace)
		second.ready(ctx) // A standby has filled its caches.
		leases := &coordinationv1.LeaseList{}
		Expect(env.Client.List(ctx, leases, client.InNamespace(env.Namespace))).To(Succeed())
		Expect(leases.Items).To(HaveLen(1))
		lease := &leases.Items[0]
		holder := *lease.Spec.HolderIdentity

		Eventually(ctx, first.Terminate()).Should(gexec.Exit(0))
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
		Expect(lease.Spec.HolderIdentity).NotTo(HaveValue(Equal(holder)))
		acts(ctx, env.Namespace)
	}, limit)

	DescribeTable("watches the namespaces that it is told", func(ctx SpecContext, own, other bool, setting func(own, other string) (env, args []string)) {
		elsewhere := on.Env(ctx)
		variables, args := setting(env.Namespace, elsewhere.Namespace)
		start(ctx, env.Namespace, variables, args...).ready(ctx)
		for namespace, watched := range map[string]bool{env.Namespace: own, elsewhere.Namespace: other} {
			if watched {
				acts(ctx, namespace)
			}
		}
		for namespace, watched := range map[string]bool{env.Namespace: own, elsewhere.Namespace: other} {
			if !watched {
				Consistently(ctx, env.Komega(ctx).Get(suite.Deployment(create(ctx, namespace)))).ShouldNot(Succeed())
			}
		}
	},
		Entry("its own", limit, true, false, func(own, _ string) ([]string, []string) { return []string{"WATCH_NAMESPACE=" + own}, nil }),
		Entry("a single other", limit, false, true, func(_, other string) ([]string, []string) { return []string{"WATCH_NAMESPACE=" + other}, nil }),
		Entry("several", limit, true, true, func(own, other string) ([]string, []string) {
			return nil, []string{"--watch-namespaces=" + own + "," + other}
		}),
		Entry("by the flag rather than the variable", limit, true, false, func(own, other string) ([]string, []string) {
			return []string{"WATCH_NAMESPACE=" + other}, []string{"--watch-namespaces=" + own}
		}),
	)

	It("hands its image and its proxy on (camel-k#1402), and records events that its role allows (risingwave-operator#1059)", func(ctx SpecContext) {
		foreign := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "contested", Namespace: env.Namespace},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		Expect(env.Client.Create(ctx, foreign)).To(Succeed())
		start(ctx, env.Namespace, []string{"RELATED_IMAGE_MEMCACHED=example.com/memcached:v9", "http_proxy=http://proxy.example.com:3128", "NO_PROXY=127.0.0.1"},
			"--watch-namespaces="+env.Namespace)
		mc := suite.Memcached.New(env.Namespace, func(o client.Object) { o.SetName("contested") })
		Expect(env.Client.Create(ctx, mc)).To(Succeed())
		deploy := suite.Deployment(mc)
		Eventually(ctx, env.Komega(ctx).Get(deploy)).Should(Succeed())
		container := deploy.Spec.Template.Spec.Containers[0]
		Expect(container.Image).To(Equal("example.com/memcached:v9"))
		Expect(container.Env).To(ContainElement(corev1.EnvVar{Name: "HTTP_PROXY", Value: "http://proxy.example.com:3128"}))
		events := &eventsv1.EventList{}
		Eventually(ctx, env.Komega(ctx).ObjectList(events, client.InNamespace(env.Namespace))).Should(
			HaveField("Items", ContainElement(And(HaveField("Reason", workload.ReasonResourceConflict), HaveField("Regarding.UID", mc.GetUID())))))
	}, limit)

	It("writes nothing after it was killed and started again", func(ctx SpecContext) {
		first := start(ctx, env.Namespace, nil, "--watch-namespaces="+env.Namespace, "--leader-elect=false")
		mc := create(ctx, env.Namespace)
		Eventually(ctx, env.Komega(ctx).Object(mc)).Should(HaveField("Status.Conditions", Not(BeEmpty())))
		Eventually(ctx, first.Kill()).Should(gexec.Exit())
		objects := append(suite.Children(mc), mc)
		before := versions(ctx, env, objects)
		start(ctx, env.Namespace, nil, "--watch-namespaces="+env.Namespace, "--leader-elect=false").ready(ctx)
		acts(ctx, env.Namespace)
		Consistently(ctx, func() []string { return versions(ctx, env, objects) }).Should(Equal(before))
	}, limit)

	It("ends with one line where it cannot work", func(ctx SpecContext) {
		for _, args := range [][]string{{"--max-concurrent-reconciles=0"}, {"--watch-namespaces=Not_A_Namespace"}} {
			p := start(ctx, env.Namespace, nil, args...)
			Eventually(ctx, p.Session).Should(gexec.Exit(2))
			Expect(p.Err.Contents()).To(MatchRegexp(`^manager: invalid value "[^\n]+\n$`))
		}
	}, limit)
})

func versions(ctx context.Context, env *suite.Env, objects []client.Object) []string {
	GinkgoHelper()
	var all []string
	for _, object := range objects {
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		all = append(all, object.GetResourceVersion())
	}
	return all
}
