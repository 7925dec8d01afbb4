package cluster

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestConfigIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	c := shared(t, Envtest)
	mine := c.Config()
	if mine.QPS >= 0 || mine.WarningHandler == nil {
		t.Errorf("Config() limits requests to %v a second, warning handler %v; want no limit and a handler", mine.QPS, mine.WarningHandler)
	}
	mine.Host = "changed"
	if c.Config().Host == "changed" {
		t.Error("a change of one configuration shows in the next")
	}
}

func TestKubeconfigServesAnotherProcess(t *testing.T) {
	t.Parallel()
	c := shared(t, Envtest)
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientsFor(t, cfg).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	before, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteKubeconfig(cfg, c.Kubeconfig()); err == nil {
		t.Error("WriteKubeconfig() overwrote a kubeconfig that was there")
	}
	if after, err := os.ReadFile(c.Kubeconfig()); err != nil || string(after) != string(before) {
		t.Errorf("the kubeconfig changed, or vanished: %v", err)
	}
}

func TestUsersHaveExactlyTheRightsThatRBACGives(t *testing.T) {
	t.Parallel()
	expectRBAC(t, shared(t, Envtest))
}

// expectRBAC shows that a user of c may nothing at first, and then what a role says and no more.
func expectRBAC(t *testing.T, c Cluster) {
	t.Helper()
	ns := Namespace(t, c)
	cfg, err := c.AddUser(t.Context(), "jane", "readers")
	if err != nil {
		t.Fatal(err)
	}
	jane, admin := clientsFor(t, cfg), clientsFor(t, c.Config())
	if _, err := jane.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a role: %v, want Forbidden", err)
	}

	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}
	if _, err := admin.RbacV1().Roles(ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.RbacV1().RoleBindings(ns).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group's role to count", func() bool {
		_, err := jane.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	if _, err := jane.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secrets: %v, want Forbidden", err)
	}
	if _, err := c.AddUser(t.Context(), ""); err == nil {
		t.Error("AddUser() accepted an empty name")
	}
}

func TestNamespaceIsRestrictedAndRemoved(t *testing.T) {
	t.Parallel()
	c := shared(t, Envtest)
	admin := clientsFor(t, c.Config())
	var name string
	t.Run("Within a Test_With/Odd Characters", func(t *testing.T) {
		name = Namespace(t, c)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "privileged"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "c", Image: "c", SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
			}}},
		}
		_, err := admin.CoreV1().Pods(name).Create(t.Context(), pod, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "violates PodSecurity") {
			t.Errorf("a privileged pod: %v, want the Pod Security admission to refuse it", err)
		}
	})
	ns, err := admin.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || ns.DeletionTimestamp == nil {
		t.Errorf("the namespace after its test: %v, %v, want it to be deleted", ns.ObjectMeta, err)
	}
}

func TestEnvtestAdmitsWhatItLacks(t *testing.T) {
	t.Parallel()
	c := shared(t, Envtest)
	for _, capability := range []Capability{Workloads, GarbageCollection, NamespaceDeletion, Containers, ServiceAccountTokens} {
		if c.Has(capability) {
			t.Errorf("Has(%s) = true without a kube-controller-manager", capability)
		}
	}
}

func TestCRDs(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/crds/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		paths  []string
		system fstest.MapFS
		want   int
		err    string
	}{
		"Directory":  {reason: "everything below it", paths: []string{"testdata"}, want: 1},
		"File":       {reason: "only that", paths: []string{"testdata/crds/widgets.yaml"}, want: 1},
		"FileSystem": {reason: "an embed.FS, say", system: fstest.MapFS{"a/b.yml": {Data: file}, "README.md": {Data: []byte(":")}}, want: 1},
		"None":       {reason: "a wrong path must not pass", paths: []string{"testdata/none"}, err: "there is no CustomResourceDefinition"},
		"Missing":    {reason: "it is named", paths: []string{"testdata/nowhere"}, err: "testdata/nowhere"},
		"NotYAML":    {reason: "the file is named", system: fstest.MapFS{"bad.yaml": {Data: []byte("a: b: c")}}, err: "bad.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crds, err := readCRDs(tc.paths, []fs.FS{tc.system})
			if len(crds) != tc.want {
				t.Errorf("%s: found %d, want %d", tc.reason, len(crds), tc.want)
			}
			if (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s: %v, want an error with %q", tc.reason, err, tc.err)
			}
		})
	}
}

func clientsFor(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}
