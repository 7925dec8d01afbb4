package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient/wait"

	"github.com/example-inc/memcached-operator/controllers"
	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/suite"
)

const (
	root = "../.."
	// systemNamespace is where config/default puts the operator.
	systemNamespace = "memcached-operator-system"
	// limit is for one wait, on a machine that is busy with other features.
	limit     = 3 * time.Minute
	pollEvery = 100 * time.Millisecond
	// cleanUpLimit is for what follows a feature, whose own time is over by then.
	cleanUpLimit = time.Minute
)

// site is the cluster with the operator on it, shared by all features.
type site struct {
	cluster.Cluster
	builds   builds
	client   client.WithWatch // The administrator's, uncached.
	clients  kubernetes.Interface
	operator operator
	warnings *warnings
	times    *times

	kubectlPath, kubeconfig string
	dir, out                string
	images                  images
}

// images are what runs. Where no container runs, any name will do.
type images struct{ operator, memcached, probe string }

// open joins or starts the cluster, and brings the operator up.
func open(ctx context.Context) (*site, error) {
	s := &site{warnings: &warnings{}, times: &times{}, out: cmp.Or(os.Getenv("E2E_OUT"), filepath.Join(root, "out", "e2e")), images: images{
		operator:  os.Getenv("E2E_OPERATOR_IMAGE"),
		memcached: cmp.Or(os.Getenv("E2E_MEMCACHED_IMAGE"), suite.DefaultImage),
		probe:     cmp.Or(os.Getenv("E2E_PROBE_IMAGE"), "probe:e2e"),
	}}
	level := cluster.Level(cmp.Or(os.Getenv(cluster.EnvLevel), string(cluster.Kwok)))
	var err error
	if s.dir, err = os.MkdirTemp("", "memcached-operator-e2e-"); err != nil {
		return nil, fmt.Errorf("making a directory for the run (TMPDIR chooses where): %w", err)
	}
	options := cluster.Options{Level: level, Name: "e2e"}
	if level != cluster.Kind {
		s.builds.start(ctx, s.dir)
	}
	if level == cluster.Kwok { // Elsewhere they come with the operator.
		options.CRDPaths = []string{filepath.Join(root, "config/crd/bases")}
	}
	err = s.times.of("cluster", func() (err error) {
		s.Cluster, err = cluster.Start(ctx, options)
		return err
	})
	if err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *site) prepare(ctx context.Context) error {
	// kubectl gets the context that the cluster was named by as its current one.
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	if err := cluster.WriteKubeconfig(s.Config(), s.kubeconfig); err != nil {
		return err
	}
	paths, err := binaries.Ensure(ctx, binaries.Options{}, binaries.Kubectl)
	if err != nil {
		return err
	}
	s.kubectlPath = paths[binaries.Kubectl]
	config := s.Config()
	config.WarningHandlerWithContext = s.warnings
	if s.client, err = client.NewWithWatch(config, client.Options{Scheme: controllers.Scheme()}); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if s.clients, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := s.unused(ctx); err != nil {
		return err
	}
	return s.times.of("operator", func() error {
		s.operator = newOperator(s)
		return s.operator.Deploy(ctx)
	})
}

// unused refuses a cluster on which the operator is at work already: the run would end with its removal.
func (s *site) unused(ctx context.Context) error {
	err := s.client.Get(ctx, client.ObjectKey{Name: systemNamespace}, &corev1.Namespace{})
	if err == nil {
		return fmt.Errorf("looking at the cluster: the operator is deployed there already: make undeploy first, or name another cluster")
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("looking at the cluster: %w", err)
	}
	for _, kind := range kinds {
		list := kind.List()
		if err := s.client.List(ctx, list); meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("looking at the cluster: listing %s: %w", kind.Resource, err)
		}
		if n := meta.LenList(list); n > 0 {
			return fmt.Errorf("looking at the cluster: it has %d %s of somebody else's: name another cluster", n, kind.Resource)
		}
	}
	return nil
}

func (s *site) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanUpLimit)
	defer cancel()
	var errs []error
	if s.operator != nil {
		errs = append(errs, s.operator.Remove(ctx))
	}
	if s.Cluster != nil {
		errs = append(errs, s.Stop(ctx))
	}
	s.builds.done.Wait()
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// kubectl runs kubectl as the administrator, and returns what it printed.
func (s *site) kubectl(ctx context.Context, args ...string) (string, error) {
	return s.command(ctx, nil, s.kubectlPath, args...)
}

// command runs a program in the repository's root, with the cluster's kubeconfig and a kubectl in its environment.
func (s *site) command(ctx context.Context, env []string, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = root
	cmd.Env = slices.Concat(os.Environ(), env, []string{"KUBECONFIG=" + s.kubeconfig, "PATH=" + os.Getenv("PATH") + ":" + filepath.Dir(s.kubectlPath)})
	out, err := cmd.CombinedOutput()
	s.warnings.scan(string(out))
	if err != nil {
		return "", fmt.Errorf("running %s %v: %w: %s", filepath.Base(program), args, err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// await looks until what is waited for is so, and tells at the deadline what was seen last. A look that fails is repeated:
// an API server that is busy is no reason to give up.
func await(ctx context.Context, what string, look func(ctx context.Context) (seen string, done bool, err error)) error {
	return awaitFor(ctx, limit, what, look)
}

func awaitFor(ctx context.Context, atMost time.Duration, what string, look func(ctx context.Context) (seen string, done bool, err error)) error {
	var last string
	err := wait.For(func(ctx context.Context) (bool, error) {
		seen, done, err := look(ctx)
		if err != nil {
			seen = err.Error()
		}
		if ctx.Err() == nil {
			last = seen
		}
		return done && err == nil, nil
	}, wait.WithContext(ctx), wait.WithTimeout(atMost), wait.WithInterval(pollEvery), wait.WithImmediate())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for %s: %w; last seen: %s", what, context.Cause(ctx), last)
	default:
		return fmt.Errorf("waited %s for %s; last seen: %s", atMost, what, last)
	}
}
