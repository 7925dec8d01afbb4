// Package schema shows, on a real kube-apiserver, what the definitions of both kinds accept and refuse, and in which words.
package schema

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/config/crd"
	"github.com/example-inc/memcached-operator/harness/cluster"
)

var (
	k8s client.Client
	// namespace is for all specs: most only ask what would be, by dry run, and the others' names are generated.
	namespace string
)

func TestSchema(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Schema")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	c, err := cluster.Start(ctx, cluster.Options{Level: cluster.Envtest, Name: "schema", CRDs: []fs.FS{crd.Files}, Out: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(c.Stop(ctx)).To(Succeed()) })

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appv1alpha1.AddToScheme, cachev1.AddToScheme} {
		Expect(add(scheme)).To(Succeed())
	}
	k8s, err = client.New(c.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	name, remove, err := cluster.CreateNamespace(ctx, c, "schema")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(remove(ctx)).To(Succeed()) })
	namespace = name
})

// memcached and myapp are custom resources with the given spec, in YAML.
func memcached(spec string) *unstructured.Unstructured {
	return object("cache.example.com/v1", "Memcached", spec)
}

func myapp(spec string) *unstructured.Unstructured {
	return object("app.example.com/v1alpha1", "MyApp", spec)
}

func object(apiVersion, kind, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	var decoded any
	Expect(yaml.Unmarshal([]byte(spec), &decoded)).To(Succeed())
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName("a")
	if decoded != nil {
		u.Object["spec"] = decoded
	}
	return u
}

// beRefused matches an error by which the API server says that field is invalid, in words that end with rule.
func beRefused(field, rule string) gomegatypes.GomegaMatcher {
	return WithTransform(causes, ContainElement(And(
		HaveField("Field", field),
		HaveField("Message", HaveSuffix(rule)),
	)))
}

func causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return []metav1.StatusCause{{Message: "no cause in: " + errorText(err)}}
	}
	return status.Status().Details.Causes
}

func errorText(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}

// repeated is text n times.
func repeated(text string, n int) string { return strings.Repeat(text, n) }
