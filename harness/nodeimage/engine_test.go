//go:build engine

package nodeimage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/harness/image"
)

// kubeletSettings let a node run where the kernel has the first version of control groups only.
const kubeletSettings = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nfailCgroupV1: false\n"

// pods are a server and a Service on one worker, and two clients on the other, one of which a policy names.
const pods = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {nodeName: %[1]s-worker, containers: [{name: web, image: probe:test}]}
---
apiVersion: v1
kind: Pod
metadata: {name: friend, labels: {app: friend}}
spec: {nodeName: %[1]s-worker2, containers: [{name: client, image: probe:test}]}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger}
spec: {nodeName: %[1]s-worker2, containers: [{name: client, image: probe:test}]}
`

const policy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: friends-only}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: friend}}}]}]
`

// realCluster is a cluster of three nodes from the image.
type realCluster struct {
	name, kubectl, kubeconfig string
	provider                  *cluster.Provider
}

// run runs kubectl with something on its standard input, and returns all that it prints.
func (c *realCluster) run(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.kubectl, append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (c *realCluster) must(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := c.run(t.Context(), input, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// eventually repeats a question until its answer is right, and says how long that took.
func eventually(t *testing.T, what string, within time.Duration, right func() (string, bool)) {
	t.Helper()
	started := time.Now()
	deadline, tick := time.After(within), time.NewTicker(200*time.Millisecond)
	defer tick.Stop()
	for {
		answer, ok := right()
		if ok {
			t.Logf("%s after %s: %s", what, time.Since(started).Round(100*time.Millisecond), answer)
			return
		}
		select {
		case <-deadline:
			t.Fatalf("waited %s for: %s; last answer:\n%s", within, what, answer)
		case <-tick.C:
		}
	}
}

func startCluster(t *testing.T) *realCluster {
	t.Helper()
	ref, err := Ensure(t.Context(), Options{Build: true})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := binaries.Ensure(t.Context(), binaries.Options{Pinned: true}, binaries.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	c := &realCluster{
		name: "node-image-test", kubectl: paths[binaries.Kubectl], kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"),
		provider: cluster.NewProvider(cluster.ProviderWithDocker()),
	}
	started := time.Now()
	t.Cleanup(func() {
		if err := c.provider.Delete(c.name, c.kubeconfig); err != nil {
			t.Error(err)
		}
	})
	err = c.provider.Create(c.name, cluster.CreateWithV1Alpha4Config(&v1alpha4.Cluster{
		Nodes:                []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}, {Role: v1alpha4.WorkerRole}, {Role: v1alpha4.WorkerRole}},
		KubeadmConfigPatches: []string{kubeletSettings},
	}), cluster.CreateWithNodeImage(ref), cluster.CreateWithKubeconfigPath(c.kubeconfig), cluster.CreateWithWaitForReady(2*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cluster created in %s", time.Since(started).Round(time.Second))
	return c
}

// loadProbe gives all nodes an image with the program in testdata.
func (c *realCluster) loadProbe(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/probe", "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	probe := image.Image{Ref: "probe:test", Files: []image.File{{Path: "/probe", Source: dir + "/probe"}}, Entrypoint: []string{"/probe"}}
	if err := probe.Write(dir + "/probe.tar"); err != nil {
		t.Fatal(err)
	}
	nodes, err := c.provider.ListNodes(c.name)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		archive, err := os.Open(dir + "/probe.tar")
		if err != nil {
			t.Fatal(err)
		}
		if err := nodeutils.LoadImageArchive(node, archive); err != nil {
			t.Fatal(err)
		}
		_ = archive.Close()
	}
}

// ask has a pod ask the server by its Service's name.
func (c *realCluster) ask(t *testing.T, pod string) (string, bool) {
	out, err := c.run(t.Context(), "", "exec", pod, "--", "/probe", "http://web.default.svc.cluster.local/")
	return out, err == nil
}

func TestNodesHaveNetworkDNSAndPolicies(t *testing.T) {
	c := startCluster(t)
	eventually(t, "both of CoreDNS are ready", time.Minute, func() (string, bool) {
		out, _ := c.run(t.Context(), "", "--namespace=kube-system", "get", "deployment", "coredns", "--output=jsonpath={.status.readyReplicas}")
		return out, out == "2"
	})
	if out := c.must(t, "", "get", "nodes", "--no-headers"); strings.Count(out, " Ready ") != 3 {
		t.Errorf("not all nodes are ready:\n%s", out)
	}
	c.loadProbe(t)
	c.must(t, fmt.Sprintf(pods, c.name), "apply", "--filename=-")
	c.must(t, "", "wait", "--for=condition=Ready", "pods", "--all", "--timeout=60s")
	addresses := c.must(t, "", "get", "pods", "--output=jsonpath={range .items[*]}{.metadata.name}={.status.podIP} {end}")
	for _, pod := range []string{"friend", "stranger"} {
		eventually(t, pod+" reaches the other node by the Service's name, "+addresses, time.Minute, func() (string, bool) {
			out, ok := c.ask(t, pod)
			return out, ok && strings.HasPrefix(out, "web to ")
		})
	}
	out, _ := c.ask(t, "friend")
	if _, from, _ := strings.Cut(out, "web to "); from == "" || !strings.Contains(addresses, "friend="+strings.Split(from, ":")[0]+" ") {
		t.Errorf("the server sees %q, not the address of the client (%s): no policy could tell pods apart", out, addresses)
	}

	c.must(t, policy, "apply", "--filename=-")
	eventually(t, "a policy keeps a stranger out", time.Minute, func() (string, bool) {
		out, ok := c.ask(t, "stranger")
		return out, !ok
	})
	if out, ok := c.ask(t, "friend"); !ok {
		t.Errorf("the policy keeps a friend out too: %s", out)
	}
}
