package binaries

import (
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/tools/setup-envtest/remote"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/versions"
	"sigs.k8s.io/yaml"
)

// defaultEnvtestIndex is where setup-envtest looks.
var defaultEnvtestIndex = remote.DefaultIndexURL

// asset is one file that is worth downloading: its checksum is known.
type asset struct {
	url string
	// sum is a SHA-256 or SHA-512 in hex; its length tells which.
	sum string
	// member is the file's base name in a tar.gz archive, or empty when the download is the program itself.
	member string
}

// origin is a document of checksums, and what to read out of it.
type origin struct {
	checksums string
	parse     func(body []byte) (map[Tool]asset, error)
}

// origins returns where the missing tools could come from, the preferred ones first.
func (m mirrors) origins(missing []Tool) []origin {
	var found []origin
	has := func(tools ...Tool) bool {
		return slices.ContainsFunc(missing, func(t Tool) bool { return slices.Contains(tools, t) })
	}
	if has(Envtest()...) {
		found = append(found, origin{checksums: m.envtestIndex, parse: parseEnvtestIndex})
	}
	for _, tool := range []Tool{KubeAPIServer, Kubectl, KubeControllerManager, KubeScheduler, Kubelet, Kubeadm, KubeProxy} {
		if has(tool) {
			found = append(found, m.kubernetesOrigin(tool))
		}
	}
	if has(Etcd) {
		found = append(found, m.etcdOrigin())
	}
	if has(Kwok, Kwokctl) {
		found = append(found, origin{checksums: m.kwokRelease, parse: m.parseKwokRelease})
	}
	return found
}

// parseEnvtestIndex reads the index of setup-envtest: one archive has the three tools.
func parseEnvtestIndex(body []byte) (map[Tool]asset, error) {
	var index remote.Index
	if err := yaml.Unmarshal(body, &index); err != nil {
		return nil, fmt.Errorf("reading the index of envtest archives: %w", err)
	}
	var version versions.Concrete
	if _, err := fmt.Sscanf(KubernetesVersion, "v%d.%d.%d", &version.Major, &version.Minor, &version.Patch); err != nil {
		return nil, fmt.Errorf("reading version %s: %w", KubernetesVersion, err)
	}
	name := versions.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}.ArchiveName(version)
	archive, ok := index.Releases[KubernetesVersion][name]
	if !ok {
		return nil, fmt.Errorf("the index of envtest archives has no %s", name)
	}
	assets := map[Tool]asset{}
	for _, tool := range Envtest() {
		assets[tool] = asset{url: archive.SelfLink, sum: strings.ToLower(archive.Hash), member: tool.file()}
	}
	return assets, checkSums(assets)
}

// kubernetesOrigin is one program of a Kubernetes release, which has its checksum beside it.
func (m mirrors) kubernetesOrigin(tool Tool) origin {
	address := m.kubernetes + "/" + path.Join(KubernetesVersion, "bin", runtime.GOOS, runtime.GOARCH, tool.file())
	return origin{checksums: address + ".sha256", parse: func(body []byte) (map[Tool]asset, error) {
		sum, _, _ := strings.Cut(strings.TrimSpace(string(body)), " ")
		assets := map[Tool]asset{tool: {url: address, sum: strings.ToLower(sum)}}
		return assets, checkSums(assets)
	}}
}

// etcdOrigin is etcd's release, with one list of checksums for all platforms.
func (m mirrors) etcdOrigin() origin {
	base := m.etcd + "/" + EtcdVersion + "/"
	name := fmt.Sprintf("etcd-%s-%s-%s.tar.gz", EtcdVersion, runtime.GOOS, runtime.GOARCH)
	return origin{checksums: base + "SHA256SUMS", parse: func(body []byte) (map[Tool]asset, error) {
		for line := range strings.Lines(string(body)) {
			if fields := strings.Fields(line); len(fields) == 2 && strings.TrimPrefix(fields[1], "*") == name {
				assets := map[Tool]asset{Etcd: {url: base + name, sum: strings.ToLower(fields[0]), member: Etcd.file()}}
				return assets, checkSums(assets)
			}
		}
		return nil, fmt.Errorf("etcd %s has no %s", EtcdVersion, name)
	}}
}

// parseKwokRelease reads the description of kwok's release.
func (m mirrors) parseKwokRelease(body []byte) (map[Tool]asset, error) {
	var release struct {
		Assets []struct{ Name, Digest string }
	}
	if err := json.Unmarshal(body, &release); err != nil {
		return nil, fmt.Errorf("reading the description of kwok %s: %w", KwokVersion, err)
	}
	assets := map[Tool]asset{}
	for _, tool := range []Tool{Kwok, Kwokctl} {
		name := strings.Replace(tool.file(), string(tool), fmt.Sprintf("%s-%s-%s", tool, runtime.GOOS, runtime.GOARCH), 1)
		for _, a := range release.Assets {
			if sum, ok := strings.CutPrefix(a.Digest, "sha256:"); ok && a.Name == name {
				assets[tool] = asset{url: m.kwok + "/" + KwokVersion + "/" + name, sum: sum}
			}
		}
		if assets[tool].sum == "" {
			return nil, fmt.Errorf("kwok %s has no checksum for %s", KwokVersion, name)
		}
	}
	return assets, checkSums(assets)
}

// checkSums refuses what is no checksum, such as the text of an error page.
func checkSums(assets map[Tool]asset) error {
	for tool, a := range assets {
		if strings.Trim(a.sum, "0123456789abcdef") != "" || len(a.sum) != 64 && len(a.sum) != 128 {
			return fmt.Errorf("what %s should be checked against is no checksum: %.80q", tool, a.sum)
		}
	}
	return nil
}
