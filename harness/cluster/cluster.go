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
	// Kind runs real nodes as containers of the local Docker engine.
	Kind Level = "kind"
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
	// NetworkPolicies means that NetworkPolicy objects are enforced.
	NetworkPolicies Capability = "network-policies"
)

// Keep says which clusters of the Kind level outlive Stop.
type Keep string

const (
	// KeepNever deletes every cluster, and is the default.
	KeepNever Keep = ""
	// KeepOnFailure keeps those of which Failed was called.
	KeepOnFailure Keep = "on-failure"
	// KeepAlways keeps all.
	KeepAlways Keep = "always"
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
	// Logs writes what the components have logged into dir, which is made when it is missing. Of a cluster that this
	// process did not start there is nothing to write.
	Logs(ctx context.Context, dir string) error
	// Failed tells that what the cluster was for has failed, which is what KeepOnFailure waits for.
	Failed()
	// Stop ends what Start began: clients first, so let managers return before (see RunManager). It gives every process
	// a grace period, then kills it, and it reports only what survived that. When ctx is done there is no grace.
	// Stop may be called again. On a joined or existing cluster it does nothing, and a cluster that is to be kept it
	// leaves running, after saying how to reach and how to delete it.
	Stop(ctx context.Context) error
}

// Options say what to start. The zero value starts an Envtest level.
type Options struct {
	// Level is Envtest when empty, or the level of the shared cluster that the environment names.
	Level Level
	// Name shows in the run directory's name and in messages, and is the name of a Kind cluster. "harness" when empty.
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
	// KindConfig is the path of kind's own configuration of a Kind cluster. Relative paths in it start at its directory. One
	// node when empty.
	KindConfig string
	// NodeImage is the image of a Kind cluster's nodes, which the engine has or can pull.
	NodeImage string
	// MakeNodeImage gets the NodeImage when it is empty, after everything else has been found to be in order. The function
	// Ensure of package harness/nodeimage can.
	MakeNodeImage func(ctx context.Context) (string, error)
	// ImageArchives are archives as docker save writes them, of one platform, whose images every node of a Kind cluster gets.
	ImageArchives []string
	// Keep says whether a Kind cluster outlives Stop.
	Keep Keep
	// FailureLogs is a directory that gets the logs when a Kind cluster does not start.
	FailureLogs string
	// Out gets one line for each phase and the API server's warnings, os.Stderr when nil.
	Out io.Writer
	// Phase, when set, is called after each phase of the start that takes time, with what it did.
	Phase func(what string, took time.Duration)
	// StartTimeout limits each component's start, 60 s when zero, and the whole start of a Kind cluster, 5 min when zero.
	StartTimeout time.Duration
	// StopGrace is how long each component may take to stop before it is killed, 3 s when zero. kube-apiserver needs one
	// second; while somebody watches it waits for the watch to end, which nothing is gained by.
	StopGrace time.Duration

	// ports picks a free port; tests replace it by one that picks badly.
	ports func() (int, error)
	// limits is the directory of the kernel's limits of inotify; tests replace it by one of their own.
	limits string
}

// Start starts a cluster, or joins the one that the environment names when the levels match, installs the CRDs and waits
// until they are served. When it fails everything is taken down again, and the error is a *StartError that names the
// component, its last log lines and what to do.
func Start(ctx context.Context, o Options) (Cluster, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	crds, err := readCRDs(o.CRDPaths, o.CRDs)
	if err != nil {
		return nil, fmt.Errorf("reading CRDs: %w", err)
	}
	p := newProgress(o.Out, o.Level, o.Phase)

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
	case Kind:
		return startKind(ctx, o, p)
	case Existing:
		return openExisting(ctx, o, p)
	default:
		return nil, fmt.Errorf("starting a cluster: unknown level %q: want %s, %s, %s or %s", o.Level, Envtest, Kwok, Kind, Existing)
	}
}

func (o Options) check() error {
	switch o.Keep {
	case KeepNever:
	case KeepAlways, KeepOnFailure:
		if o.Level != Kind {
			return fmt.Errorf("starting a cluster: only the level %s can keep one: leave out Keep for %s", Kind, o.Level)
		}
	default:
		return fmt.Errorf("starting a cluster: unknown Keep %q: want %s, %s or nothing", o.Keep, KeepOnFailure, KeepAlways)
	}
	return nil
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
		if o.Level == Kind {
			o.StartTimeout = 5 * time.Minute
		}
	}
	if o.limits == "" {
		o.limits = "/proc/sys/fs/inotify"
	}
	if o.StopGrace == 0 {
		o.StopGrace = 3 * time.Second
	}
	return o
}
