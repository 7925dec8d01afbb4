package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// EnvKubeconfig names the kubeconfig of a cluster that several processes of one run share.
	EnvKubeconfig = "HARNESS_KUBECONFIG"
	// EnvContext names the context in it, which is the current one when unset.
	EnvContext = "HARNESS_CONTEXT"
	// EnvLevel names that cluster's level.
	EnvLevel = "HARNESS_LEVEL"
	// lookTimeout limits the first look at a cluster that somebody else runs.
	lookTimeout = 15 * time.Second
)

// join attaches to a shared cluster, which outlives this process.
func join(ctx context.Context, kubeconfig string, o Options, p *progress) (Cluster, error) {
	cfg, err := load(kubeconfig, os.Getenv(EnvContext))
	if err != nil {
		return nil, fmt.Errorf("joining the cluster that %s names: %w", EnvKubeconfig, err)
	}
	h := &handle{
		level:      o.Level,
		can:        capabilities(o.Level),
		admin:      tune(cfg, o.Out),
		kubeconfig: kubeconfig,
	}
	h.users, err = loadAuthority(filepath.Join(filepath.Dir(kubeconfig), "pki"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("joining the cluster that %s names: %w", EnvKubeconfig, err)
	}
	if o.Level == Existing {
		if h.can, err = h.look(ctx); err != nil {
			return nil, fmt.Errorf("joining the cluster that %s names: %w", EnvKubeconfig, err)
		}
	}
	p.done("joined the cluster at " + cfg.Host)
	return h, nil
}

// capabilities are those of the levels that this package starts itself.
func capabilities(level Level) []Capability {
	simulated := []Capability{Workloads, GarbageCollection, NamespaceDeletion, ServiceAccountTokens}
	switch level {
	case Kwok:
		return simulated
	case Kind:
		return append(simulated, Containers, NetworkPolicies)
	default:
		return nil
	}
}

// openExisting opens the cluster that the options name, and nothing that they do not name.
func openExisting(ctx context.Context, o Options, p *progress) (Cluster, error) {
	if o.ExistingKubeconfig == "" || o.ExistingContext == "" {
		return nil, fmt.Errorf("opening an existing cluster: name it by ExistingKubeconfig and ExistingContext, " +
			"so that no test ever meets a cluster by accident")
	}
	cfg, err := load(o.ExistingKubeconfig, o.ExistingContext)
	if err != nil {
		return nil, fmt.Errorf("opening context %s of %s: %w", o.ExistingContext, o.ExistingKubeconfig, err)
	}
	kubeconfig, err := filepath.Abs(o.ExistingKubeconfig) // Who joins may run in another directory.
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", o.ExistingKubeconfig, err)
	}
	h := &handle{level: Existing, admin: tune(cfg, o.Out), kubeconfig: kubeconfig}
	if h.can, err = h.look(ctx); err != nil {
		return nil, fmt.Errorf("looking at context %s of %s: %w", o.ExistingContext, o.ExistingKubeconfig, err)
	}
	p.done(fmt.Sprintf("opened %s, which can do: %v", cfg.Host, h.can))
	return h, nil
}

// load reads one kubeconfig and nothing else, whatever the environment says.
func load(kubeconfig, kubeContext string) (*rest.Config, error) {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: kubeContext},
	).ClientConfig()
}

// look judges an existing cluster by its nodes: without any there is no kube-controller-manager to count on, and where
// all are simulated no container runs.
func (h *handle) look(ctx context.Context) ([]Capability, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	clients, err := kubernetes.NewForConfig(h.admin)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing its nodes: %w", err)
	}
	if len(nodes.Items) == 0 {
		return nil, nil
	}
	can := capabilities(Kwok)
	for _, node := range nodes.Items {
		if !simulated(&node) {
			return append(can, Containers), nil
		}
	}
	return can, nil
}

func simulated(node *corev1.Node) bool { return node.Annotations[kwokNodeAnnotation] != "" }
