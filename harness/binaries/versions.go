package binaries

import (
	"embed"
	"strings"
)

// The pinned versions. The modules in source/ must agree with them, which a test checks.
const (
	// KubernetesVersion is the version of Kubernetes' own programs.
	KubernetesVersion = "v1.37.2"
	// EtcdVersion is the version of etcd.
	EtcdVersion = "v3.7.3"
	// KwokVersion is the version of kwok and kwokctl.
	KwokVersion = "v0.8.0"
	// ContainerdVersion is the version of containerd, ctr and containerd-shim-runc-v2.
	ContainerdVersion = "v2.4.2"
	// CoreDNSVersion is the version of CoreDNS.
	CoreDNSVersion = "v1.14.6"
	// KubeRouterVersion is the version of kube-router.
	KubeRouterVersion = "v2.1.0"
	// CRIToolsVersion is the version of crictl.
	CRIToolsVersion = "v1.37.0"
)

// source has the go.mod and go.sum of each module under other names: a directory with a go.mod cannot be embedded.
//
//go:embed source/*.mod source/*.sum
var source embed.FS

// module is a set of programs that are built from one set of dependencies.
type module struct {
	name, version string
	gomod, gosum  []byte
	ldflags, tags string
	packages      map[Tool]string
}

// modules returns what can be built.
func modules() []module {
	const k8s = "k8s.io/kubernetes/cmd/"
	return []module{
		embedded("etcd", EtcdVersion, "-s -w", map[Tool]string{Etcd: "go.etcd.io/etcd/server/v3"}),
		embedded("kubernetes", KubernetesVersion, kubernetesFlags(), map[Tool]string{
			KubeAPIServer:         k8s + "kube-apiserver",
			Kubectl:               k8s + "kubectl",
			KubeControllerManager: k8s + "kube-controller-manager",
			KubeScheduler:         k8s + "kube-scheduler",
			Kubelet:               k8s + "kubelet",
			Kubeadm:               k8s + "kubeadm",
			KubeProxy:             k8s + "kube-proxy",
		}),
		embedded("kwok", KwokVersion, "-s -w", map[Tool]string{
			Kwok:    "sigs.k8s.io/kwok/cmd/kwok",
			Kwokctl: "sigs.k8s.io/kwok/cmd/kwokctl",
		}),
		containerd(),
		embedded("coredns", CoreDNSVersion, "-s -w", map[Tool]string{CoreDNS: "github.com/coredns/coredns"}),
		embedded("kube-router", KubeRouterVersion, "-s -w -X github.com/cloudnativelabs/kube-router/v2/pkg/version.Version="+KubeRouterVersion,
			map[Tool]string{KubeRouter: "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"}),
		embedded("cri-tools", CRIToolsVersion, "-s -w -X sigs.k8s.io/cri-tools/pkg/version.Version="+CRIToolsVersion,
			map[Tool]string{Crictl: "sigs.k8s.io/cri-tools/cmd/crictl"}),
	}
}

// containerd leaves out the snapshotters that a node does not use; one of them would need a C compiler.
func containerd() module {
	const root = "github.com/containerd/containerd/v2/"
	m := embedded("containerd", ContainerdVersion, "-s -w -X "+root+"version.Version="+ContainerdVersion, map[Tool]string{
		Containerd:     root + "cmd/containerd",
		Ctr:            root + "cmd/ctr",
		ContainerdShim: root + "cmd/containerd-shim-runc-v2",
	})
	m.tags = "no_btrfs,no_devmapper,no_zfs,no_aufs"
	return m
}

// kubernetesFlags stamp the version: clients and kwokctl misread an unstamped one.
func kubernetesFlags() string {
	parts := strings.SplitN(strings.TrimPrefix(KubernetesVersion, "v"), ".", 3)
	return strings.Join([]string{
		"-s -w",
		"-X k8s.io/component-base/version.gitVersion=" + KubernetesVersion,
		"-X k8s.io/component-base/version.gitMajor=" + parts[0],
		"-X k8s.io/component-base/version.gitMinor=" + parts[1],
		"-X k8s.io/client-go/pkg/version.gitVersion=" + KubernetesVersion,
	}, " ")
}

func embedded(name, version, ldflags string, packages map[Tool]string) module {
	return module{
		name: name, version: version, ldflags: ldflags, packages: packages,
		gomod: mustRead("source/" + name + ".mod"), gosum: mustRead("source/" + name + ".sum"),
	}
}

func mustRead(name string) []byte {
	data, err := source.ReadFile(name)
	if err != nil {
		panic(err) // Cannot happen: the file is part of this package.
	}
	return data
}
