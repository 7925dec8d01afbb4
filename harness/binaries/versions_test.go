package binaries

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The constants, the embedded modules and the list of tools are three places that must say the same.
func TestPinsAgreeWithTheEmbeddedModules(t *testing.T) {
	t.Parallel()
	var tools []Tool
	for _, m := range modules() {
		requirement := map[string]string{
			"etcd": "go.etcd.io/etcd/server/v3", "kubernetes": "k8s.io/kubernetes", "kwok": "sigs.k8s.io/kwok",
			"containerd": "github.com/containerd/containerd/v2", "coredns": "github.com/coredns/coredns",
			"kube-router": "github.com/cloudnativelabs/kube-router/v2", "cri-tools": "sigs.k8s.io/cri-tools",
		}[m.name]
		want := regexp.MustCompile(`(?m)^\s` + regexp.QuoteMeta(requirement+" "+m.version) + `( |$)`)
		if !want.Match(m.gomod) {
			t.Errorf("source/%s.mod does not require %s %s", m.name, requirement, m.version)
		}
		for tool, pkg := range m.packages {
			tools = append(tools, tool)
			if !strings.Contains(string(m.gomod), pkg+"\n") {
				t.Errorf("source/%s.mod does not name the package %s as a tool", m.name, pkg)
			}
			if !strings.HasPrefix(pkg, requirement) {
				t.Errorf("%s is built from %s, which is not of %s", tool, pkg, requirement)
			}
		}
	}
	all := known()
	slices.Sort(all)
	slices.Sort(tools)
	if !slices.Equal(all, tools) {
		t.Errorf("the modules build %v, want %v", tools, all)
	}
}

func TestStagingModulesFollowTheVersionOfKubernetes(t *testing.T) {
	t.Parallel()
	staging := "v0" + strings.TrimPrefix(KubernetesVersion, "v1")
	replaced := regexp.MustCompile(`(?m)^\s(k8s\.io/\S+) => (\S+) (\S+)$`).FindAllStringSubmatch(string(mustRead("source/kubernetes.mod")), -1)
	if len(replaced) < 30 {
		t.Fatalf("only %d staging modules are replaced", len(replaced))
	}
	for _, match := range replaced {
		if match[1] != match[2] || match[3] != staging {
			t.Errorf("%s is replaced by %s %s, want version %s of itself", match[1], match[2], match[3], staging)
		}
	}
}

// A program made under other pins must not be found.
func TestCacheKeyFollowsThePins(t *testing.T) {
	t.Parallel()
	before := modules()[0]
	for name, change := range map[string]func(*module){
		"version": func(m *module) { m.version = "v9.9.9" },
		"go.mod":  func(m *module) { m.gomod = append([]byte("// changed\n"), m.gomod...) },
		"go.sum":  func(m *module) { m.gosum = m.gosum[1:] },
		"flags":   func(m *module) { m.ldflags += " -w" },
		"tags":    func(m *module) { m.tags = "other" },
	} {
		after := before
		change(&after)
		if before.key() == after.key() {
			t.Errorf("the key stays %s when the %s changes", before.key(), name)
		}
	}
}

// A key made of fingerprints must not find what was made of other programs.
func TestFingerprintFollowsTheProgramsAndTheirPins(t *testing.T) {
	t.Parallel()
	prints := map[string][]Tool{}
	for _, tools := range [][]Tool{{Kubelet}, {Kubelet, CoreDNS}, {CoreDNS}, Node(), All()} {
		print := Fingerprint(tools...)
		if other, ok := prints[print]; ok {
			t.Errorf("%v and %v have the same fingerprint", tools, other)
		}
		if print != Fingerprint(tools...) {
			t.Errorf("the fingerprint of %v changes by itself", tools)
		}
		prints[print] = tools
	}
}
