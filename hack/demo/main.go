// Command demo runs the operator as a real process against a simulated cluster, with exactly the rights that
// config/default gives it. It walks through the life of the samples and verifies each step, or stays up to be tried out.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stay := flag.Bool("stay", false, "Keep everything running until Ctrl-C instead of walking through the samples' life.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, *stay)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 only when every step has been verified, the teardown included.
func run(ctx context.Context, stay bool) int {
	interrupted := func() bool { return ctx.Err() != nil }
	s := &script{out: os.Stdout, interrupted: interrupted}
	w, err := newWorld()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	err = s.play(ctx, w.setUp())
	if err == nil && stay {
		w.invite(s.out)
		err = w.stay(ctx)
	}
	if err == nil && !stay {
		err = s.play(w.ctx(ctx), w.life())
	}
	if err != nil && !interrupted() {
		w.explain(context.WithoutCancel(ctx), s.out)
	}

	// An interrupt ends the walk, not the tidying up.
	s.interrupted = func() bool { return false }
	tidyErr := s.playAll(context.WithoutCancel(ctx), w.tearDown())
	switch {
	case tidyErr != nil || (err != nil && !interrupted()):
		return 1
	case interrupted() && !stay:
		_, _ = fmt.Fprintln(s.out, "interrupted; nothing is left behind")
		return 130
	case !stay:
		_, _ = fmt.Fprintf(s.out, "All %d steps verified.\n", s.verified)
	}
	return 0
}
