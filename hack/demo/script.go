package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// step is one thing that the demo does and then verifies.
type step struct {
	name string
	// do returns what there is to tell: the rest of the line, then whole lines.
	do func(ctx context.Context) (string, error)
}

// script prints one line a step.
type script struct {
	out         io.Writer
	interrupted func() bool // By the user, who need not be told what that broke.
	verified    int
}

// play does the steps up to the first that fails.
func (s *script) play(ctx context.Context, steps []step) error {
	for _, step := range steps {
		start := time.Now()
		told, err := step.do(ctx)
		seconds := time.Since(start).Seconds()
		if err != nil {
			if !s.interrupted() {
				_, _ = fmt.Fprintf(s.out, "✗ %s (%.1f s)\n  %v\n", step.name, seconds, err)
			}
			return err
		}
		line, rest, _ := strings.Cut(told, "\n")
		if line != "" {
			line = ": " + line
		}
		_, _ = fmt.Fprintf(s.out, "✓ %s%s (%.1f s)\n", step.name, line, seconds)
		if rest != "" {
			_, _ = fmt.Fprintln(s.out, "    "+strings.ReplaceAll(strings.TrimSpace(rest), "\n", "\n    "))
		}
		s.verified++
	}
	return nil
}

// playAll does all steps, whichever fail.
func (s *script) playAll(ctx context.Context, steps []step) error {
	errs := make([]error, 0, len(steps))
	for i := range steps {
		errs = append(errs, s.play(ctx, steps[i:i+1]))
	}
	return errors.Join(errs...)
}

// await calls look until it is done, and tells at the deadline what was waited for and what was seen last.
// A look that fails is looked at again: an API server that is busy is no reason to give up.
func await(ctx context.Context, limit time.Duration, what string, look func(ctx context.Context) (seen string, done bool, err error)) error {
	var last string
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		seen, done, err := look(ctx)
		if err != nil {
			seen = err.Error()
		}
		if ctx.Err() == nil {
			last = seen
		}
		return done && err == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
	default:
		return fmt.Errorf("waited %s for %s; last seen: %s", limit, what, last)
	}
}
