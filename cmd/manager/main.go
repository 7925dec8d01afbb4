// Command manager runs the operator: the controllers of Memcached and MyApp, their health probes and their metrics.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// version is stamped by the linker; a build without a stamp says what the Go toolchain knows.
var version string

const (
	exitOK = iota
	exitFailed
	// exitUsage tells a wrong flag or environment value from a failure that a restart may cure.
	exitUsage
)

func main() {
	limitGarbage(os.Getenv)
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments. Whatever ends it is told in one line.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	s, err := parse(args, getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		printUsage(stdout)
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "manager:", err)
		return exitUsage
	case s.showVersion:
		_, _ = fmt.Fprintln(stdout, versionString())
		return exitOK
	}

	if err := serve(ctx, s, stderr); err != nil {
		_, _ = fmt.Fprintln(stderr, "manager:", err)
		return exitFailed
	}
	return exitOK
}

func serve(ctx context.Context, s settings, logs io.Writer) error {
	// Before there is a logger, because a cluster that is not found is logged with a stack trace besides being returned.
	restConfig, err := clusterConfig(s)
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&s.log), zap.WriteTo(logs)))
	mgr, ready, err := newManager(ctx, s, restConfig)
	if err != nil {
		return err
	}
	ctrl.Log.WithName("setup").Info("starting", "version", versionString(),
		"namespaces", s.watchNamespaces, "memcachedImage", s.memcachedImage)
	if err := start(ctx, mgr, &ready.synced); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return nil
}

// start runs the manager. While the caches have not synced, its Start does not heed ctx and spins instead
// (controller-runtime#3440). Until then no controller has begun anything, so that it need not be waited for.
func start(ctx context.Context, mgr manager.Runnable, synced *atomic.Bool) error {
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if !synced.Load() {
		return nil
	}
	return <-done
}

func clusterConfig(s settings) (*rest.Config, error) {
	if s.kubeconfig == "" {
		return ctrl.GetConfig()
	}
	restConfig, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	restConfig.QPS = -1 // As GetConfig does: the API server's priority and fairness does the limiting.
	return restConfig, nil
}

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
