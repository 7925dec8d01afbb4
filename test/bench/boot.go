package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example-inc/memcached-operator/config/crd"
	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/harness/cluster"
)

func estimateBoot(s sizes) time.Duration { return time.Duration(s.pairs) * 14 * time.Second }

// measureBoot compares the start of the harness's envtest level with that of controller-runtime's own Environment, with the same
// binaries and CRDs. The two take turns, the one first in one pair and the other in the next.
func (b *bench) measureBoot(ctx context.Context) error {
	paths, err := binaries.Ensure(ctx, binaries.Options{}, binaries.Envtest()...)
	if err != nil {
		return err
	}
	var level, stock []float64
	for pair := range b.pairs {
		boots := []func() error{
			func() error { return appendSeconds(&level, func() (float64, error) { return bootLevel(ctx) }) },
			func() error { return appendSeconds(&stock, func() (float64, error) { return bootStock(paths) }) },
		}
		if pair%2 == 1 {
			slices.Reverse(boots)
		}
		for _, boot := range boots {
			if err := errors.Join(ctx.Err(), boot()); err != nil {
				return err
			}
		}
		b.progress.say("pair %d of %d: the envtest level %.1f s, envtest.Environment %.1f s", pair+1, b.pairs, level[pair], stock[pair])
	}
	b.figures.add(figure{name: "envtest_boot_ratio", ours: medianRatio(level, stock), bound: new(1.1), digits: 2})
	return nil
}

func appendSeconds(all *[]float64, boot func() (float64, error)) error {
	seconds, err := boot()
	*all = append(*all, seconds)
	return err
}

func bootLevel(ctx context.Context) (float64, error) {
	begin := time.Now()
	c, err := cluster.Start(ctx, cluster.Options{Level: cluster.Envtest, Name: "bench", CRDs: []fs.FS{crd.Files}, Out: io.Discard})
	if err != nil {
		return 0, err
	}
	seconds := time.Since(begin).Seconds()
	return seconds, c.Stop(context.WithoutCancel(ctx))
}

func bootStock(paths binaries.Paths) (float64, error) {
	definitions, err := crd.Definitions()
	if err != nil {
		return 0, err
	}
	environment := &envtest.Environment{
		CRDs: slices.Collect(maps.Values(definitions)),
		ControlPlane: envtest.ControlPlane{
			APIServer:   &envtest.APIServer{Path: paths[binaries.KubeAPIServer]},
			Etcd:        &envtest.Etcd{Path: paths[binaries.Etcd]},
			KubectlPath: paths[binaries.Kubectl],
		},
	}
	begin := time.Now()
	if _, err := environment.Start(); err != nil {
		return 0, fmt.Errorf("starting envtest.Environment: %w", errors.Join(err, environment.Stop()))
	}
	seconds := time.Since(begin).Seconds()
	if err := environment.Stop(); err != nil {
		return 0, fmt.Errorf("stopping envtest.Environment: %w", err)
	}
	return seconds, nil
}
