// Package binaries finds or makes the programs a test control plane consists of, and those of a node.
//
// Each program is looked for in this order, and the first source that has it wins:
//
//  1. the environment: TEST_ASSET_ETCD, TEST_ASSET_KUBE_APISERVER, TEST_ASSET_KUBECTL, TEST_ASSET_KUBE_CONTROLLER_MANAGER,
//     TEST_ASSET_KUBE_SCHEDULER, TEST_ASSET_KWOK, TEST_ASSET_KWOKCTL, then the directory KUBEBUILDER_ASSETS;
//  2. a cache shared by all checkouts of the user, in HARNESS_CACHE_DIR or the user's cache directory;
//  3. a download of the official release, checked against its published checksum, unless HARNESS_OFFLINE is set;
//  4. a build from source with the go command, from modules pinned in this package.
package binaries

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/example-inc/memcached-operator/harness/internal/keep"
)

// Tool names a program.
type Tool string

// The programs this package provides.
const (
	Etcd                  Tool = "etcd"
	KubeAPIServer         Tool = "kube-apiserver"
	Kubectl               Tool = "kubectl"
	KubeControllerManager Tool = "kube-controller-manager"
	KubeScheduler         Tool = "kube-scheduler"
	Kwok                  Tool = "kwok"
	Kwokctl               Tool = "kwokctl"

	Kubelet        Tool = "kubelet"
	Kubeadm        Tool = "kubeadm"
	KubeProxy      Tool = "kube-proxy"
	Containerd     Tool = "containerd"
	Ctr            Tool = "ctr"
	ContainerdShim Tool = "containerd-shim-runc-v2"
	CoreDNS        Tool = "coredns"
	KubeRouter     Tool = "kube-router"
	Crictl         Tool = "crictl"
)

// Envtest returns the programs controller-runtime's envtest needs.
func Envtest() []Tool {
	return []Tool{Etcd, KubeAPIServer, Kubectl}
}

// All returns every program of a control plane, in the order they are made: what envtest needs comes first.
func All() []Tool {
	return append(Envtest(), KubeControllerManager, KubeScheduler, Kwok, Kwokctl)
}

// Node returns the programs that a node of a real cluster has besides a control plane's, in the order they are made.
// They run on Linux only.
func Node() []Tool {
	return []Tool{Kubelet, Kubeadm, KubeProxy, Containerd, Ctr, ContainerdShim, CoreDNS, KubeRouter, Crictl}
}

// known is every tool there is.
func known() []Tool { return append(All(), Node()...) }

// Paths holds the absolute path of each program.
type Paths map[Tool]string

// Options say where to keep the programs and whom to tell about progress. The zero value is ready to use.
type Options struct {
	// Out receives progress; nothing is written when all programs are there. Defaults to os.Stderr.
	Out io.Writer
	// CacheDir keeps the programs. Defaults to HARNESS_CACHE_DIR, then to a directory in the user's cache directory.
	CacheDir string
	// Pinned leaves the environment out of it: the programs are of the pinned versions, whatever it names.
	Pinned bool
}

// Ensure returns the paths of the given tools (of All when none is given), downloading or building what is missing.
// It is safe to call from several processes at once: one makes a program, the others wait for it.
// While it works, an interrupt or termination signal ends it with an error, leaving nothing half-made behind.
func Ensure(ctx context.Context, opts Options, tools ...Tool) (Paths, error) {
	f, err := newFinder(opts, os.Getenv)
	if err != nil {
		return nil, err
	}
	return f.ensure(ctx, tools...)
}

// finder carries what Ensure depends on, so that tests can replace it.
type finder struct {
	env     func(string) string
	environ []string
	pinned  bool
	out     io.Writer
	cache   cache
	modules []module
	mirrors mirrors
	goTool  string
	// probeTimeout bounds the time until all checksums are there, stallTimeout the time a download may stand still.
	probeTimeout, stallTimeout time.Duration
	freeSpace                  func(dir string) (uint64, error)
}

func newFinder(opts Options, env func(string) string) (*finder, error) {
	root, err := keep.Root(cmp.Or(opts.CacheDir, env(keep.EnvDir)))
	if err != nil {
		return nil, err
	}
	out := opts.Out
	if out == nil {
		out = os.Stderr
	}
	return &finder{
		env: env, environ: os.Environ(), pinned: opts.Pinned, out: out,
		cache: cache{root: root}, modules: modules(), mirrors: mirrorsFrom(env), goTool: "go",
		probeTimeout: 3 * time.Second, stallTimeout: 20 * time.Second, freeSpace: freeSpace,
	}, nil
}

func (f *finder) ensure(ctx context.Context, tools ...Tool) (Paths, error) {
	tools, err := inOrder(tools)
	if err != nil {
		return nil, err
	}
	paths, err := f.fromEnvironment(tools)
	if err != nil {
		return nil, err
	}
	missing := f.addCached(paths, tools)
	if len(missing) == 0 {
		return paths, nil
	}

	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	work, err := f.cache.workspace()
	if err != nil {
		return nil, err
	}
	defer work.remove()

	why := f.download(ctx, work, missing)
	if missing = f.addCached(paths, missing); len(missing) == 0 {
		return paths, nil
	}
	err = f.build(ctx, work, missing, why)
	if missing = f.addCached(paths, missing); len(missing) == 0 {
		return paths, nil
	}
	return nil, f.notFound(ctx, missing, why, err)
}

// addCached adds to paths what the cache has and returns the rest.
func (f *finder) addCached(paths Paths, tools []Tool) (missing []Tool) {
	for _, tool := range tools {
		if paths[tool] != "" {
			continue
		}
		if path := f.cached(tool); isExecutable(path) == nil {
			paths[tool] = path
		} else {
			missing = append(missing, tool)
		}
	}
	return missing
}

// cached is where the cache keeps a tool, whether it is there or not.
func (f *finder) cached(tool Tool) string {
	return f.cache.path(f.moduleOf(tool), tool)
}

// moduleOf returns the module whose source has the tool; inOrder has made sure that there is one.
func (f *finder) moduleOf(tool Tool) module {
	i := slices.IndexFunc(f.modules, func(m module) bool { return m.packages[tool] != "" })
	return f.modules[i]
}

// inOrder sorts tools so that those of envtest come first, and refuses unknown ones.
func inOrder(tools []Tool) ([]Tool, error) {
	if len(tools) == 0 {
		return All(), nil
	}
	all := known()
	for _, tool := range tools {
		if !slices.Contains(all, tool) {
			return nil, fmt.Errorf("unknown tool %q: have %s", tool, join(all))
		}
	}
	sorted := slices.SortedFunc(slices.Values(tools), func(a, b Tool) int {
		return cmp.Compare(slices.Index(all, a), slices.Index(all, b))
	})
	return slices.Compact(sorted), nil
}
