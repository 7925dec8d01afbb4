package nodeimage

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/harness/image"
)

// kubeRouterImage is the name that files/default-cni.yaml has.
const kubeRouterImage = "cloudnativelabs/kube-router:" + binaries.KubeRouterVersion

// networkPrograms are what kube-proxy and kube-router call. The directory of plug-ins is added where it is found.
var networkPrograms = []string{
	"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
	"nft", "ipset", "ip", "conntrack", "modprobe",
}

// controlPlaneImages are the images that a node has from the start. Each has one program and what that one calls, all of it
// from here or from the unpacked root file system.
func controlPlaneImages(ctx context.Context, root, pause string, paths binaries.Paths) ([]image.Image, error) {
	names, err := imageNames(ctx, paths[binaries.Kubeadm])
	if err != nil {
		return nil, err
	}
	images := make([]image.Image, 0, len(names)+2)
	for _, tool := range []binaries.Tool{binaries.KubeAPIServer, binaries.KubeControllerManager, binaries.KubeScheduler, binaries.KubeProxy, binaries.Etcd, binaries.CoreDNS} {
		ref := names[string(tool)]
		if ref == "" {
			return nil, fmt.Errorf("kubeadm %s wants no image called %s", binaries.KubernetesVersion, tool)
		}
		images = append(images, program(ref, "/usr/local/bin/"+string(tool), paths[tool]))
	}
	images = append(images, program(kubeRouterImage, "/usr/local/bin/kube-router", paths[binaries.KubeRouter]))

	plugins, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*/xtables"))
	if err != nil || len(plugins) != 1 {
		return nil, fmt.Errorf("finding the plug-ins of iptables in %s: have %v (%w)", root, plugins, err)
	}
	network, err := image.Closure(root, append(networkPrograms, strings.TrimPrefix(plugins[0], root))...)
	if err != nil {
		return nil, err
	}
	// kube-router adds a name to it.
	network = append(network, image.File{Path: "/etc/iproute2/rt_tables", Source: filepath.Join(root, "etc/iproute2/rt_tables")})
	for i := range images {
		if images[i].Ref == kubeRouterImage || images[i].Ref == names[string(binaries.KubeProxy)] {
			images[i].Files = append(images[i].Files, network...)
		}
	}
	sleeper, err := image.Closure(root, "catatonit")
	if err != nil {
		return nil, err
	}
	images = append(images, image.Image{Ref: pause, Files: sleeper, Entrypoint: []string{"/usr/bin/catatonit", "-P"}, User: "65535:65535"})
	for i := range images {
		images[i].Compress = true // The engine copies them for each node.
	}
	return images, nil
}

// program is an image of one program.
func program(ref, at, source string) image.Image {
	return image.Image{
		Ref: ref, Files: []image.File{{Path: at, Source: source, Mode: 0o755}},
		Entrypoint: []string{at}, Env: []string{commandPath},
	}
}

// imageNames are the names that kubeadm gives to images, by the last part of their repository.
func imageNames(ctx context.Context, kubeadm string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, kubeadm, "config", "images", "list", "--kubernetes-version", binaries.KubernetesVersion).Output()
	if err != nil {
		return nil, fmt.Errorf("asking kubeadm for the names of images: %w", err)
	}
	names := map[string]string{}
	for ref := range strings.FieldsSeq(string(out)) {
		repository, _, _ := strings.Cut(path.Base(ref), ":")
		names[repository] = ref
	}
	return names, nil
}
