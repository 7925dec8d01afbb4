package nodeimage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path"

	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/harness/debian"
	"github.com/example-inc/memcached-operator/harness/image"
)

// commandPath is where a node, and a container of its images, finds programs.
const commandPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// tidy leaves a systemd that starts what a node needs and nothing else, as kind's own base image does.
const tidy = `set -e; cd "$1"
rm -f usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service
rm -f usr/lib/systemd/system/multi-user.target.wants/* usr/lib/systemd/system/local-fs.target.wants/* usr/lib/systemd/system/basic.target.wants/*
rm -f usr/lib/systemd/system/sockets.target.wants/*udev* usr/lib/systemd/system/sockets.target.wants/*initctl*
rm -f etc/systemd/system/*.wants/*
mkdir -p etc/systemd/journald.conf.d etc/kubernetes/manifests opt/cni`

// rootFileSystem is what a node has of Debian.
func rootFileSystem() debian.Request {
	return debian.Request{
		Packages: []string{
			"systemd", "systemd-sysv", "conntrack", "iptables", "nftables", "ipset", "iproute2", "ethtool", "util-linux", "mount", "kmod",
			"libseccomp2", "pigz", "e2fsprogs", "bash", "ca-certificates", "curl", "jq", "procps",
			"runc", "containernetworking-plugins", "catatonit",
		},
		DpkgOptions: []string{
			"path-exclude=/usr/share/man/*", "path-exclude=/usr/share/locale/*", "path-exclude=/usr/share/info/*",
			"path-exclude=/usr/share/doc/*", "path-include=/usr/share/doc/*/copyright",
		},
		CustomizeHooks: []string{tidy},
	}
}

// programs are all that the image has, on the node itself and in the images of the control plane.
func programs() []binaries.Tool {
	return append(binaries.Node(), binaries.Etcd, binaries.KubeAPIServer, binaries.Kubectl, binaries.KubeControllerManager, binaries.KubeScheduler)
}

// stopSignal is what systemd takes for a request to end.
const stopSignal = "SIGRTMIN+3"

// commitChanges undo what the container of a build was started with.
var commitChanges = []string{"--change", `ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]`, "--change", "CMD []"}

// baseImage is a node that has no images of its own yet.
func baseImage(ctx context.Context, rootfs, kind string, paths binaries.Paths) (image.Image, error) {
	files, err := baseFiles(ctx, kind, paths)
	if err != nil {
		return image.Image{}, err
	}
	return image.Image{Base: rootfs, Files: files, Env: []string{"container=docker", commandPath}}, nil // systemd wants to know where it is.
}

// baseFiles are what a node has on top of Debian.
func baseFiles(ctx context.Context, kind string, paths binaries.Paths) ([]image.File, error) {
	all, err := kindFiles(kind)
	if err != nil {
		return nil, err
	}
	spec, err := containerSpec(ctx, paths[binaries.Ctr])
	if err != nil {
		return nil, err
	}
	for dir, tools := range map[string][]binaries.Tool{
		"/usr/bin":       {binaries.Kubelet, binaries.Kubeadm, binaries.Kubectl}, // kind's unit names them there.
		"/usr/local/bin": {binaries.Containerd, binaries.Ctr, binaries.ContainerdShim, binaries.Crictl},
	} {
		for _, tool := range tools {
			all = append(all, image.File{Path: path.Join(dir, string(tool)), Source: paths[tool], Mode: 0o755})
		}
	}
	for _, unit := range []string{"kubelet", "containerd", "undo-mount-hacks"} {
		all = append(all, image.File{Path: "/etc/systemd/system/multi-user.target.wants/" + unit + ".service", Link: "/etc/systemd/system/" + unit + ".service"})
	}
	return append(all,
		// What it registers with the kernel would be registered for the whole machine.
		image.File{Path: "/etc/systemd/system/systemd-binfmt.service", Link: "/dev/null"},
		image.File{Path: "/etc/systemd/journald.conf.d/kind.conf", Data: []byte("[Journal]\nReadKMsg=no\n")},
		image.File{Path: "/kind/bin/refuse-services.sh", Data: embedded("refuse-services.sh"), Mode: 0o755},
		image.File{Path: "/etc/systemd/system/kubelet.service.d/20-services.conf", Data: []byte("[Service]\nExecStartPre=/kind/bin/refuse-services.sh\n")},
		image.File{Path: "/opt/cni/bin", Link: "/usr/lib/cni"},
		image.File{Path: "/etc/containerd/cri-base.json", Data: spec},
		image.File{Path: "/etc/containerd/cni.template", Data: embedded("cni.template")},
		image.File{Path: "/kind/version", Data: []byte(binaries.KubernetesVersion)},
		image.File{Path: "/kind/manifests/default-cni.yaml", Data: embedded("default-cni.yaml")},
		image.File{Path: "/kind/manifests/default-storage.yaml", Data: embedded("default-storage.yaml")},
	), nil
}

// containerSpec is what all containers on a node begin from: containerd's own default, with kind's hook and without limits,
// which a host may not let a node raise.
func containerSpec(ctx context.Context, ctr string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, ctr, "oci", "spec").Output()
	if err != nil {
		return nil, fmt.Errorf("asking ctr for a container's default: %w", err)
	}
	return withHook(out)
}

func withHook(defaults []byte) ([]byte, error) {
	var spec map[string]any
	if err := json.NewDecoder(bytes.NewReader(defaults)).Decode(&spec); err != nil {
		return nil, fmt.Errorf("reading a container's default: %w", err)
	}
	process, ok := spec["process"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("reading a container's default: it has no process: %.80s", defaults)
	}
	delete(process, "rlimits")
	hooks, ok := spec["hooks"].(map[string]any)
	if !ok {
		hooks = map[string]any{}
	}
	before, _ := hooks["createContainer"].([]any)
	hooks["createContainer"] = append(before, map[string]any{"path": "/kind/bin/mount-product-files.sh"})
	spec["hooks"] = hooks
	return json.MarshalIndent(spec, "", "  ")
}
