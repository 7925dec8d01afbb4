// Command bench measures what the operator costs and how fast it is, beside the reconciler of the well-known tutorial, in
// the same run on the same simulated cluster.
//
// Each figure goes to stdout as a line "name value", followed by the tutorial's value; progress and a closing table
// with the bounds go to stderr. The exit code is 1 when a bound is missed, 2 when something could not be measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

const (
	exitOver = 1 + iota
	exitFailed
)

// sizes say how much is measured.
type sizes struct {
	writes, converge, memory, foreign int // Resources, and pods of others.
	rounds, pairs                     int
	settle, restart, rest             time.Duration
}

// bench is one run.
type bench struct {
	sizes
	dir      string
	progress *progress
	figures  *figures
}

// section measures the figures that one set-up serves.
type section struct {
	name     string
	estimate func(sizes) time.Duration
	measure  func(*bench, context.Context) error
}

var sections = []section{
	{"boot", estimateBoot, (*bench).measureBoot},
	{"writes", estimateWrites, (*bench).measureWrites},
	{"converge", estimateConverge, (*bench).measureConverge},
	{"memory", estimateMemory, (*bench).measureMemory},
}

func main() {
	runtime.LockOSThread() // A manager ends with the thread that started it, see processAttributes.
	os.Exit(run())
}

func run() int {
	full := sizes{
		writes: 300, converge: 500, memory: 3000, foreign: 5000, rounds: 3, pairs: 5,
		settle: 60 * time.Second, restart: 30 * time.Second, rest: 60 * time.Second,
	}
	only := flag.String("only", "", "comma-separated sections to measure, of boot, writes, converge and memory (default all)")
	scale := flag.Float64("scale", 1, "share of the resources and pods to create, for a quick try")
	flag.IntVar(&full.rounds, "rounds", full.rounds, "rounds of converge")
	flag.IntVar(&full.pairs, "pairs", full.pairs, "pairs of boot")
	flag.DurationVar(&full.settle, "settle", full.settle, "how long settled managers are watched")
	flag.DurationVar(&full.restart, "restart", full.restart, "how long restarted managers are watched")
	flag.DurationVar(&full.rest, "rest", full.rest, "how long managers rest before their memory is read")
	flag.Parse()
	chosen, err := choose(*only)
	if err == nil && (*scale <= 0 || full.rounds < 1 || full.pairs < 1 || flag.NArg() > 0) {
		err = errors.New("-scale, -rounds and -pairs must be positive, and there are no arguments")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitFailed
	}
	return measure(full.times(*scale), chosen)
}

// times scales the sizes, none below 1.
func (s sizes) times(scale float64) sizes {
	for _, n := range []*int{&s.writes, &s.converge, &s.memory, &s.foreign} {
		*n = max(1, int(float64(*n)*scale))
	}
	return s
}

func choose(only string) ([]section, error) {
	if only == "" {
		return sections, nil
	}
	var chosen []section
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no section %q: want boot, writes, converge or memory", name)
		}
		chosen = append(chosen, sections[i])
	}
	return chosen, nil
}

func measure(s sizes, chosen []section) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	b := &bench{sizes: s, progress: &progress{out: os.Stderr, now: time.Now}, figures: &figures{out: os.Stdout}}
	if err := b.run(ctx, chosen); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitFailed
	}
	if !b.figures.table(os.Stderr) {
		return exitOver
	}
	return 0
}

func (b *bench) run(ctx context.Context, chosen []section) (err error) {
	// The clusters are this run's own, whatever cluster the environment offers for tests to share.
	if err := errors.Join(os.Unsetenv(cluster.EnvKubeconfig), os.Unsetenv(cluster.EnvLevel)); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()

	for _, s := range chosen {
		b.progress.planned += s.estimate(b.sizes)
	}
	b.progress.start("managers", 0)
	b.progress.say("building them")
	for _, s := range subjects {
		if err := s.build(ctx, b.dir); err != nil {
			return err
		}
	}
	for _, s := range chosen {
		b.progress.start(s.name, s.estimate(b.sizes))
		if err := s.measure(b, ctx); err != nil {
			return fmt.Errorf("measuring %s: %w", s.name, err)
		}
		b.progress.finish()
	}
	return nil
}
