// Package e2e_test shows the operator at work from end to end. The same features serve real nodes (kind), simulated ones
// (kwok) and clusters that somebody else runs (existing); what a level cannot show is listed as skipped, with the reason.
package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/example-inc/memcached-operator/test/suite"
)

// kinds are those that most features are shown for.
var kinds = []*suite.Kind{suite.Memcached, suite.MyApp}

// interrupted is the exit code of what a signal ended.
const interrupted = 130

var (
	on      *site
	testenv env.Environment
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // It is where the process begins.
	defer stop()
	cfg, err := envconf.NewFromFlags()
	if err != nil {
		return fail(err)
	}
	ctrl.SetLogger(logr.Discard())
	if on, err = open(ctx); err != nil {
		return fail(err)
	}
	testenv = env.NewWithConfig(cfg.WithSkipLabels(on.lacking()))
	flag.Parse()
	if !given("test.parallel") { // Features mostly wait.
		if err := flag.Set("test.parallel", "10"); err != nil {
			return fail(err)
		}
	}
	// An interrupt ends the tests at once, and takes down what they have put up.
	heed := context.AfterFunc(ctx, func() {
		os.Exit(max(interrupted, fail(errors.Join(errors.New("interrupted"), on.close(context.WithoutCancel(ctx))))))
	})
	code := m.Run()
	heed()
	if err := on.close(context.WithoutCancel(ctx)); err != nil {
		code = max(code, fail(err))
	}
	on.times.print(os.Stdout)
	return code
}

func fail(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

// TestFeatures shows one feature after the other: first those that disturb nobody, side by side, then those that act on the
// operator itself or on nodes, each alone, and last the operator's end.
func TestFeatures(t *testing.T) {
	t.Run("Together", func(t *testing.T) {
		for _, theme := range []func(*suite.Kind) []story{deletion, rollout, lifecycle, scaling, orphan, application} {
			for _, kind := range kinds {
				for _, s := range theme(kind) {
					s.together(t)
				}
			}
		}
	})
	t.Run("Alone", func(t *testing.T) {
		for _, s := range slices.Concat(rights(), draining(), process(), undeploying()) {
			s.alone(t)
		}
	})
}

// given tells whether a flag was set on the command line.
func given(name string) bool {
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
