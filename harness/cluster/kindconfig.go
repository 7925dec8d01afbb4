package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// onCgroup1 lets kubelets of Kubernetes 1.35 and later start on hosts with cgroup v1; on others it changes nothing.
const onCgroup1 = "kind: KubeletConfiguration\nfailCgroupV1: false\n"

// readKindConfig reads kind's own configuration of a cluster, one node's when path is empty.
func readKindConfig(path string) (*v1alpha4.Cluster, error) {
	config := &v1alpha4.Cluster{}
	if path == "" {
		config.KubeadmConfigPatches = []string{onCgroup1}
		config.Nodes = []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}}
		return config, nil
	}
	data, err := os.ReadFile(path) //nolint:gosec // The caller names it.
	if err != nil {
		return nil, fmt.Errorf("reading kind's configuration: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(config); err != nil {
		return nil, fmt.Errorf("reading kind's configuration %s: %s", path, strings.ReplaceAll(err.Error(), "\n", ""))
	}
	if config.APIVersion != "kind.x-k8s.io/v1alpha4" || config.Kind != "Cluster" {
		return nil, fmt.Errorf("reading kind's configuration %s: it is a %q of %q, want a Cluster of kind.x-k8s.io/v1alpha4",
			path, config.Kind, config.APIVersion)
	}
	if config.Name != "" {
		return nil, fmt.Errorf("reading kind's configuration %s: leave out the name, which is the run's to choose", path)
	}
	if len(config.Nodes) == 0 {
		config.Nodes = []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}}
	}
	return config, anchorMounts(config, filepath.Dir(path))
}

// anchorMounts makes the host's paths of mounts absolute, and finds out now which are missing: the engine would make
// directories of them.
func anchorMounts(config *v1alpha4.Cluster, dir string) error {
	for i := range config.Nodes {
		for j := range config.Nodes[i].ExtraMounts {
			host := &config.Nodes[i].ExtraMounts[j].HostPath
			if !filepath.IsAbs(*host) {
				*host = filepath.Join(dir, *host)
			}
			absolute, err := filepath.Abs(*host)
			if err == nil {
				_, err = os.Stat(absolute)
			}
			if err != nil {
				return fmt.Errorf("finding what kind's configuration mounts: %w", err)
			}
			*host = absolute
		}
	}
	return nil
}

// kubernetesVersion is at the start of a node image's tag.
var kubernetesVersion = regexp.MustCompile(`:(v\d+\.\d+\.\d+)[^/:]*(@sha256:[0-9a-f]+)?$`)

// versionMatches compares the version that an image's tag promises with the one that the image holds.
func versionMatches(image, version string) error {
	if !strings.HasPrefix(version, "v") {
		return fmt.Errorf("%s is not a kind node image, its /kind/version is %q: name one that is", image, version)
	}
	promised := kubernetesVersion.FindStringSubmatch(image)
	if promised == nil || promised[1] == version || strings.HasPrefix(version, promised[1]+"-") {
		return nil
	}
	return fmt.Errorf("the node image %s holds Kubernetes %s and not %s: name one that matches, or remove it from the engine by: docker rmi %[1]s",
		image, version, promised[1])
}

// checkName tells what is wrong with a Kind cluster's name.
func checkName(name string) error {
	if !clusterName.MatchString(name) {
		return fmt.Errorf("%q cannot be a cluster's name: it has small letters, digits, dots and dashes alone", name)
	}
	if len(name) > 50 {
		return errors.New("the cluster's name is too long for its nodes' host names: choose one of at most 50 characters")
	}
	return nil
}
