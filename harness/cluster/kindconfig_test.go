package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const twoNodes = `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
  extraMounts:
  - hostPath: policy.yaml
    containerPath: /policy.yaml
- role: worker
`

func TestKindConfig(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, config, want string
		nodes                int
	}{
		"Mounts":      {reason: "paths start at the file's directory", config: twoNodes, nodes: 2},
		"NoNodes":     {reason: "kind's default is one", config: "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n", nodes: 1},
		"UnknownKey":  {reason: "a typing error", config: twoNodes + "networks: {}\n", want: "networks"},
		"Another":     {reason: "any other YAML", config: "kind: Cluster\napiVersion: v1\n", want: "want a Cluster of kind.x-k8s.io/v1alpha4"},
		"Named":       {reason: "two names would be one too many", config: twoNodes + "name: mine\n", want: "leave out the name"},
		"NoSuchMount": {reason: "the engine would make a directory of it", config: strings.Replace(twoNodes, "policy.yaml", "nowhere.yaml", 1), want: "nowhere.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, content := range map[string]string{"kind.yaml": tc.config, "policy.yaml": "x"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			config, err := readKindConfig(filepath.Join(dir, "kind.yaml"))
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: readKindConfig() = %v, want one line with %q", tc.reason, err, tc.want)
				}
				return
			}
			if err != nil || len(config.Nodes) != tc.nodes {
				t.Fatalf("%s: readKindConfig() = %d nodes, %v, want %d", tc.reason, len(config.Nodes), err, tc.nodes)
			}
			for _, mount := range config.Nodes[0].ExtraMounts {
				if mount.HostPath != filepath.Join(dir, "policy.yaml") {
					t.Errorf("%s: it mounts %s", tc.reason, mount.HostPath)
				}
			}
		})
	}
}

func TestNodeImageHoldsWhatItsTagSays(t *testing.T) {
	t.Parallel()
	for image, tc := range map[string]struct {
		version string
		want    string
	}{
		"kindest/node:v1.37.2":                 {version: "v1.37.2"},
		"kindest/node:v1.37.2@sha256:0123abcd": {version: "v1.37.2"},
		"host:5000/node:v1.37.2-local-1":       {version: "v1.37.2"},
		"kindest/node:v1.38.0":                 {version: "v1.38.0-rc.1"},
		"kindest/node:latest":                  {version: "v1.30.1"},
		"host:5000/node":                       {version: "v1.37.2"},
		"kindest/node:v1.37.1":                 {version: "v1.37.2", want: "holds Kubernetes v1.37.2 and not v1.37.1"},
		"kindest/node:v1.37.2-other":           {version: "v1.3.7", want: "holds Kubernetes v1.3.7 and not v1.37.2"},
		"kindest/node:v1.3.7@sha256:0123abcd":  {version: "v1.37.2", want: "not v1.3.7"},
		"example/node:v1":                      {version: "", want: "is not a kind node image"},
	} {
		err := versionMatches(image, tc.version)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("versionMatches(%s, %q) = %v, want %q", image, tc.version, err, tc.want)
		}
	}
}
