package cluster

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kgateway#14502, korifi#1242: every test process boots a control plane of its own.
func TestKgateway14502ProcessesShareOneControlPlane(t *testing.T) {
	for _, level := range []Level{Envtest, Kwok, Envtest} { // CRDs that are there already are left as they are.
		booted := shared(t, level)
		t.Setenv(EnvKubeconfig, booted.Kubeconfig())
		t.Setenv(EnvLevel, string(level))
		joined, err := Start(t.Context(), Options{CRDPaths: []string{"testdata"}, Out: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		if joined.Config().Host != booted.Config().Host || joined.Level() != level {
			t.Errorf("Start() opened %s at level %s, want the shared %s", joined.Config().Host, joined.Level(), booted.Config().Host)
		}
		list := clientsFor(t, joined.Config()).Discovery().RESTClient().Get().AbsPath("/apis/cluster.example.com/v1/widgets")
		if err := list.Do(t.Context()).Error(); err != nil {
			t.Errorf("the CRD is not served: %v", err)
		}
		expectRBAC(t, joined)
		if err := joined.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := clientsFor(t, booted.Config()).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("the shared cluster is gone after Stop of one that joined it: %v", err)
		}
	}
}

// Who joins a cluster that somebody else runs must meet the one that was named, not the one that is current.
func TestExistingIsJoinedByItsContext(t *testing.T) {
	c := shared(t, Envtest)
	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.Clusters["another"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	config.Contexts["another"] = &clientcmdapi.Context{Cluster: "another"}
	config.CurrentContext = "another"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvKubeconfig, path)
	t.Setenv(EnvContext, "harness")
	t.Setenv(EnvLevel, string(Existing))
	joined, err := Start(t.Context(), Options{Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	if joined.Config().Host != c.Config().Host {
		t.Errorf("Start() joined %s, want %s, which was named", joined.Config().Host, c.Config().Host)
	}
}

func TestAnotherLevelIsNotJoined(t *testing.T) {
	t.Setenv(EnvKubeconfig, shared(t, Envtest).Kubeconfig())
	t.Setenv(EnvLevel, string(Envtest))
	_, err := Start(t.Context(), Options{Level: Existing})
	if err == nil || !strings.Contains(err.Error(), "ExistingKubeconfig") {
		t.Errorf("Start() = %v, want the level that was asked for to be tried", err)
	}
}

func TestBrokenSharedKubeconfigIsNamed(t *testing.T) {
	t.Setenv(EnvKubeconfig, "testdata/nowhere")
	t.Setenv(EnvLevel, string(Envtest))
	_, err := Start(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), EnvKubeconfig) || !strings.Contains(err.Error(), "testdata/nowhere") {
		t.Errorf("Start() = %v, want the variable and the path", err)
	}
}

func TestExistingNeedsToBeNamed(t *testing.T) {
	t.Setenv("KUBECONFIG", shared(t, Envtest).Kubeconfig())
	for _, o := range []Options{
		{Level: Existing},
		{Level: Existing, ExistingContext: "harness"},
		{Level: Existing, ExistingKubeconfig: shared(t, Envtest).Kubeconfig()},
		{Level: Existing, ExistingKubeconfig: shared(t, Envtest).Kubeconfig(), ExistingContext: "another"},
	} {
		if c, err := Start(t.Context(), o); err == nil {
			t.Errorf("Start() opened %s, which was not named in full", c.Config().Host)
		}
	}
}

func TestExistingIsUsedAndLeftAlone(t *testing.T) {
	for level, can := range map[Level][]Capability{
		Envtest: nil,
		Kwok:    {Workloads, GarbageCollection, NamespaceDeletion, ServiceAccountTokens},
	} {
		t.Run(string(level), func(t *testing.T) {
			others := shared(t, level)
			c, err := Start(t.Context(), Options{
				Level: Existing, ExistingKubeconfig: others.Kubeconfig(), ExistingContext: "harness", Out: t.Output(),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, capability := range []Capability{Workloads, GarbageCollection, NamespaceDeletion, ServiceAccountTokens, Containers} {
				if got, want := c.Has(capability), slices.Contains(can, capability); got != want {
					t.Errorf("Has(%s) = %t, want %t", capability, got, want)
				}
			}
			expectRBAC(t, c)
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := clientsFor(t, others.Config()).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("the cluster is gone after Stop: %v", err)
			}
		})
	}
}
