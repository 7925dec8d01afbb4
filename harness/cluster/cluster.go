package cluster

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"k8s.io/client-go/rest"
)

// Level says how much of Kubernetes is real.
type Level string

const (
	// Envtest runs etcd and kube-apiserver, and nothing that would act on what they store.
	Envtest Level = "envtest"
	// Kwok adds the real kube-controller-manager and kube-scheduler, and nodes whose kubelets are simulated.
	Kwok Level = "kwok"
	// Existing is a cluster that somebody else runs, named by its kubeconfig. Stop leaves it alone.
	Existing Level = "existing"
)

// Capability is something that a scenario may need and a level may lack.
type Capability string

const (
	// Workloads means that Deployments become pods that become ready.
	Workloads Capability = "workloads"
	// GarbageCollection means that dependants of a deleted owner go, and that foreground deletion ends.
	GarbageCollection Capability = "garbage-collection"
	// NamespaceDeletion means that a deleted namespace is emptied and goes.
	NamespaceDeletion Capability = "namespace-deletion"
	// ServiceAccountTokens means that every namespace gets a default ServiceAccount and pods get its token.
	ServiceAccountTokens Capability = "service-account-tokens" //nolint:gosec // The name of a capability, not a credential.
	// Containers means that images are pulled and processes run: probes, exec, logs and networking are real.
	Containers Capability = "containers"
)

// Cluster is a running control plane.
type Cluster interface {
	// Level is the level that the cluster was started at.
	Level() Level
	// Has tells whether the cluster can do what c names.
	Has(c Capability) bool
	// Config returns a fresh copy of an administrator's configuration, without client-side rate limits and with each
	// distinct API warning printed once. The caller may change it freely.
	Config() *rest.Config
	// Kubeconfig is the path of a kubeconfig file for the administrator.
	Kubeconfig() string
	// AddUser returns a configuration that acts as the user name in groups, with exactly the rights that RBAC gives them.
	AddUser(ctx context.Context, name string, groups ...string) (*rest.Config, error)
	// Stop ends what Start began: clients first, so let managers return before (see RunManager). It gives every process
	// a grace period, then kills it, and it reports only what survived that. When ctx is done there is no grace.
	// Stop may be called again. On a joined or existing cluster it does nothing.
	Stop(ctx context.Context) error
}

// Options say what to start. The zero value starts an Envtest level.
type Options struct {
	// Level is Envtest when empty, or the level of the shared cluster that the environment names.
	Level Level
	// Name shows in the run directory's name and in messages. "harness" when empty.
	Name string
	// Nodes is how many nodes the Kwok level simulates, 3 when zero.
	Nodes int
	// CRDPaths are files, or directories with everything below them, whose CustomResourceDefinitions are installed. Other
	// kinds in the same files are passed over. A path without any is an error.
	CRDPaths []string
	// CRDs are file systems to be searched in the same way, such as an embed.FS.
	CRDs []fs.FS
	// APIServerFlags are further flags of kube-apiserver, without the leading dashes.
	APIServerFlags map[string]string
	// ExistingKubeconfig and ExistingContext name the cluster of the Existing level. Both must be given: neither the
	// KUBECONFIG variable nor a current context is ever taken for consent.
	ExistingKubeconfig, ExistingContext string
	// Out gets one line for each phase and the API server's warnings, os.Stderr when nil.
	Out io.Writer
	// StartTimeout limits each component's start, 60 s when zero.
	StartTimeout time.Duration
	// StopGrace is how long each component may take to stop before it is killed, 3 s when zero. kube-apiserver needs one
	// second; while somebody watches it waits for the watch to end, which nothing is gained by.
	StopGrace time.Duration

	// ports picks a free port; tests replace it by one that picks badly.
	ports func() (int, error)
}

// Start starts a cluster, or joins the one that the environment names when the levels match, installs the CRDs and waits
// until they are served. When it fails everything is taken down again, and the error is a *StartError that names the
// component, its last log lines and what to do.
func Start(ctx context.Context, o Options) (Cluster, error) {
	o = o.withDefaults()
	crds, err := readCRDs(o.CRDPaths, o.CRDs)
	if err != nil {
		return nil, fmt.Errorf("reading CRDs: %w", err)
	}
	p := newProgress(o.Out, o.Level)

	c, err := boot(ctx, o, p)
	if err != nil {
		return nil, err
	}
	if err := installCRDs(ctx, c.Config(), crds); err != nil {
		stopErr := c.Stop(context.WithoutCancel(ctx))
		return nil, startError(o.Level, fmt.Errorf("installing CRDs: %w", err), stopErr)
	}
	if len(crds) > 0 {
		p.done(fmt.Sprintf("%d CRDs served", len(crds)))
	}
	return c, nil
}

func boot(ctx context.Context, o Options, p *progress) (Cluster, error) {
	if shared := os.Getenv(EnvKubeconfig); shared != "" && o.Level == Level(os.Getenv(EnvLevel)) {
		return join(ctx, shared, o, p)
	}
	switch o.Level {
	case Envtest:
		return startLocal(ctx, o, p, bootEnvtest)
	case Kwok:
		return startLocal(ctx, o, p, bootKwok)
	case Existing:
		return openExisting(ctx, o, p)
	default:
		return nil, fmt.Errorf("starting a cluster: unknown level %q: want %s, %s or %s", o.Level, Envtest, Kwok, Existing)
	}
}

func (o Options) withDefaults() Options {
	if o.Level == "" {
		o.Level = Level(os.Getenv(EnvLevel))
	}
	if o.Level == "" {
		o.Level = Envtest
	}
	if o.Name == "" {
		o.Name = "harness"
	}
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	if o.Out == nil {
		o.Out = os.Stderr
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 60 * time.Second
	}
	if o.StopGrace == 0 {
		o.StopGrace = 3 * time.Second
	}
	return o
}
