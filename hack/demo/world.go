package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/operator"
)

// world is what the demo sets up and takes down.
type world struct {
	dir     string // Ours alone; goes at the end.
	paths   binaries.Paths
	cluster cluster.Cluster
	client  client.WithWatch // The administrator's, uncached.

	deployment *appsv1.Deployment // How config/default would run the operator in a pod.
	operator   *operator.Process
	samples    samples
}

func newWorld() (*world, error) {
	dir, err := os.MkdirTemp("", "memcached-operator-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the run (TMPDIR chooses where): %w", err)
	}
	return &world{dir: dir}, nil
}

func (w *world) setUp() []step {
	return []step{
		{"the cluster's programs are there", w.ensurePrograms},
		{"a simulated cluster is up", w.startCluster},
		{"the operator's account, roles and namespace are applied", w.install},
		{"the operator is built", w.build},
		{"the operator leads and is ready", w.startOperator},
		{"the samples are applied", w.applySamples},
		{"the samples are ready", w.samplesReady},
	}
}

func (w *world) life() []step {
	return []step{
		{"scaled through /scale, status.nodes followed", w.scale},
		{"deleted, in order", w.deleteOne},
		{"the other samples are deleted", w.deleteOthers},
		{"the operator logged no error", w.noErrors},
	}
}

func (w *world) tearDown() []step {
	return []step{
		{"the operator has stopped", w.stopOperator},
		{"the cluster is gone", w.stopCluster},
	}
}

// ctx ends early when the operator does: nothing is worth waiting for without it.
func (w *world) ctx(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	context.AfterFunc(w.operator.Ended, func() { cancel(context.Cause(w.operator.Ended)) })
	return ctx
}

// stay returns when the user has had enough, or with an error when the operator has ended before.
func (w *world) stay(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-w.operator.Ended.Done():
		return context.Cause(w.operator.Ended)
	}
}

func (w *world) ensurePrograms(ctx context.Context) (string, error) {
	var err error
	w.paths, err = binaries.Ensure(ctx, binaries.Options{})
	return "", err
}

func (w *world) startCluster(ctx context.Context) (string, error) {
	scheme := clientgoscheme.Scheme
	if err := errors.Join(cachev1.AddToScheme(scheme), appv1alpha1.AddToScheme(scheme)); err != nil {
		return "", err
	}
	var err error
	w.cluster, err = cluster.Start(ctx, cluster.Options{
		Level: cluster.Kwok, Name: "demo", CRDPaths: []string{"config/crd/bases"}, Out: io.Discard,
	})
	if err != nil {
		return "", err
	}
	w.client, err = client.NewWithWatch(w.cluster.Config(), client.Options{Scheme: scheme})
	return "three simulated nodes, both CRDs served", err
}

// stopCluster takes the cluster down and looks whether anything of it is left.
func (w *world) stopCluster(ctx context.Context) (string, error) {
	if w.cluster == nil {
		return "it had not started", os.RemoveAll(w.dir)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := errors.Join(w.cluster.Stop(ctx), os.RemoveAll(w.dir)); err != nil {
		return "", err
	}
	files := filepath.Dir(w.cluster.Kubeconfig())
	if _, err := os.Stat(files); !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("its directory %s is still there", files)
	}
	server, err := url.Parse(w.cluster.Config().Host)
	if err != nil {
		return "", fmt.Errorf("reading the API server's address: %w", err)
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", server.Host)
	if err == nil {
		return "", errors.Join(fmt.Errorf("something still listens on %s", server.Host), conn.Close())
	}
	return "no process, no file", nil
}
