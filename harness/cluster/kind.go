package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	kindexec "sigs.k8s.io/kind/pkg/exec"
)

const (
	// removeEvery is the pace at which the nodes of a start that was given up are removed, until no more come.
	removeEvery = 500 * time.Millisecond
	// removeTimeout limits the removal of a cluster's containers.
	removeTimeout = 2 * time.Minute
)

// kindSite is what a Kind cluster is built on.
type kindSite struct {
	Options
	run      *runDir
	provider *kind.Provider
	config   *v1alpha4.Cluster
	archives []archive
	progress *progress
}

// Check tells whether a cluster of the Kind level could be started, as far as that costs nothing to find out: before images
// are made for it, say. Of other levels it knows nothing that Start would not find out as early.
func Check(ctx context.Context, o Options) error {
	o = o.withDefaults()
	if err := o.check(); err != nil || o.Level != Kind {
		return err
	}
	if _, err := (&kindSite{Options: o}).check(ctx); err != nil {
		return fmt.Errorf("starting the %s level: %w", o.Level, err)
	}
	return nil
}

// startKind starts a cluster of containers after it has looked whether that can work. Nothing that the engine has is
// touched before the name is claimed, and nothing but what has that name after.
func startKind(ctx context.Context, o Options, p *progress) (Cluster, error) {
	s := &kindSite{Options: o, progress: p, provider: kind.NewProvider(kind.ProviderWithDocker(), kind.ProviderWithLogger(kindLog{p}))}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("starting the %s level: %w", o.Level, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("not up after %s", o.StartTimeout))
	defer cancel()
	h, err := s.start(limited)
	if err != nil {
		return nil, s.failed(context.WithoutCancel(ctx), err)
	}
	return h, nil
}

// check refuses what cannot work, as far as it costs nothing to find out, and returns the engine's architecture.
func (s *kindSite) check(ctx context.Context) (arch string, err error) {
	if err := checkName(s.Name); err != nil {
		return "", err
	}
	if s.config, err = readKindConfig(s.KindConfig); err != nil {
		return "", err
	}
	if err := checkLimits(s.limits, len(s.config.Nodes)); err != nil {
		return "", err
	}
	if arch, err = engineAnswers(ctx); err != nil {
		return "", err
	}
	return arch, nameIsFree(ctx, s.Name)
}

// prepare checks, makes sure of the images, and claims the cluster's name.
func (s *kindSite) prepare(ctx context.Context) (err error) {
	if s.archives, err = readArchives(s.ImageArchives); err != nil {
		return err
	}
	arch, err := s.check(ctx)
	if err != nil {
		return err
	}
	switch {
	case s.NodeImage != "":
	case s.MakeNodeImage == nil:
		return errors.New("no node image is named: package harness/nodeimage has one")
	default:
		if s.NodeImage, err = s.MakeNodeImage(ctx); err != nil {
			return err
		}
	}
	if err := ensureImage(ctx, s.NodeImage, arch, s.progress); err != nil {
		return err
	}
	s.progress.done("node image " + s.NodeImage)
	return s.claim(ctx)
}

func (s *kindSite) claim(ctx context.Context) (err error) {
	if s.run, err = newRunDir(s.Name); err != nil {
		return err
	}
	// From here on the watchdog removes the claim, and once it is made the nodes as well.
	if err := s.guard(ownedBy(s.run.path)); err != nil {
		return errors.Join(err, s.run.remove())
	}
	version, err := claim(ctx, s.Name, s.NodeImage, s.run.path)
	if err != nil {
		return errors.Join(err, s.run.remove())
	}
	err = versionMatches(s.NodeImage, version)
	if err == nil {
		err = s.guard(nodesOf(s.Name), ownedBy(s.run.path))
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return errors.Join(err, s.takeDown(ctx))
	}
	s.progress.done(fmt.Sprintf("Kubernetes %s as cluster %s", version, s.Name))
	return nil
}

// guard tells the watchdog which containers to remove.
func (s *kindSite) guard(filters ...string) error {
	if err := os.WriteFile(s.run.join("containers"), []byte(strings.Join(filters, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("telling the watchdog of containers: %w", err)
	}
	return nil
}

func (s *kindSite) start(ctx context.Context) (*handle, error) {
	if err := s.create(ctx); err != nil {
		return nil, err
	}
	s.progress.done(fmt.Sprintf("created %d nodes", len(s.config.Nodes)))
	all, err := s.provider.ListInternalNodes(s.Name)
	if err != nil {
		return nil, fmt.Errorf("listing the nodes: %w", err)
	}
	admin, users, err := s.access(all)
	if err != nil {
		return nil, err
	}

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return loadImages(groupCtx, all, s.archives) })
	group.Go(func() error { return awaitNodes(groupCtx, admin, len(all)) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.progress.done(fmt.Sprintf("loaded %d image archives, nodes and DNS are ready", len(s.archives)))
	return &handle{
		level:      Kind,
		can:        capabilities(Kind),
		admin:      tune(admin, s.Out),
		kubeconfig: s.run.join("kubeconfig"),
		users:      users,
		end:        s.takeDown,
		logs:       s.logs,
		keep:       s.Keep,
		leave:      s.leave,
	}, nil
}

// create runs kind, which cannot be told to stop: when ctx is done its containers are removed until it gives up.
func (s *kindSite) create(ctx context.Context) error {
	created := make(chan error, 1)
	go func() {
		created <- s.provider.Create(s.Name,
			kind.CreateWithV1Alpha4Config(s.config),
			kind.CreateWithNodeImage(s.NodeImage),
			kind.CreateWithKubeconfigPath(s.run.join("kind.kubeconfig")),
			// A node that failed can be asked why, and is removed afterwards.
			kind.CreateWithRetain(true),
		)
	}()
	select {
	case err := <-created:
		return err
	case <-ctx.Done():
	}
	tick := time.NewTicker(removeEvery)
	defer tick.Stop()
	for {
		select {
		case <-created: //nolint:errcheck // Its containers were removed, and so it failed.
			return fmt.Errorf("given up while starting: %w", context.Cause(ctx))
		case <-tick.C:
			// What goes wrong here shows when all is removed in the end.
			_ = removeContainers(context.WithoutCancel(ctx), nodesOf(s.Name))
		}
	}
}

// access returns the administrator's configuration and the CA of the cluster's users, and writes the kubeconfig.
func (s *kindSite) access(all []nodes.Node) (*rest.Config, *authority, error) {
	admin, err := clientcmd.BuildConfigFromFlags("", s.run.join("kind.kubeconfig"))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the kubeconfig of kind: %w", err)
	}
	if err := WriteKubeconfig(admin, s.run.join("kubeconfig")); err != nil {
		return nil, nil, err
	}
	node, err := nodeutils.BootstrapControlPlaneNode(all)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the control plane: %w", err)
	}
	for _, name := range []string{caCert, caKey} {
		data, err := kindexec.Output(node.Command("cat", "/etc/kubernetes/pki/"+name))
		if err != nil {
			return nil, nil, fmt.Errorf("reading the CA of %s: %w", node, err)
		}
		if err := os.WriteFile(s.run.join("pki", name), data, 0o600); err != nil {
			return nil, nil, fmt.Errorf("writing the CA: %w", err)
		}
	}
	users, err := loadAuthority(s.run.join("pki"))
	return admin, users, err
}

// takeDown deletes the cluster and gives up its name.
func (s *kindSite) takeDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), removeTimeout, fmt.Errorf("not done after %s", removeTimeout))
	defer cancel()
	if err := removeContainers(ctx, nodesOf(s.Name), ownedBy(s.run.path)); err != nil {
		return err // The watchdog tries again when this process ends.
	}
	return s.run.remove()
}

// leave lets the cluster live on after this process.
func (s *kindSite) leave() error {
	_, _ = fmt.Fprintf(s.Out, "%s: cluster %s is kept\n  to reach it:  export KUBECONFIG=%s\n  to delete it: %s%[2]s\n",
		s.Level, s.Name, s.run.join("kubeconfig"), deleteCommand)
	return s.run.dismiss()
}

func (s *kindSite) logs(_ context.Context, dir string) error {
	return s.provider.CollectLogs(s.Name, filepath.Clean(dir))
}
