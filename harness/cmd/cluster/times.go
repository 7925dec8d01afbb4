package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

// times remembers how long each part of a run took.
type times struct {
	since time.Time
	parts []part
}

type part struct {
	what string
	took time.Duration
}

func newTimes() *times { return &times{since: time.Now()} }

func (t *times) add(what string, took time.Duration) { t.parts = append(t.parts, part{what, took}) }

// begin begins a part that ends when the returned function is called.
func (t *times) begin(what string) (end func()) {
	began := time.Now()
	return func() { t.add(what, time.Since(began)) }
}

// print tells all parts and the whole. What failed before it began has nothing to tell.
func (t *times) print(out io.Writer) {
	if len(t.parts) == 0 {
		return
	}
	_, _ = fmt.Fprintln(out, "times of the run:")
	for _, p := range append(t.parts, part{"total", time.Since(t.since)}) {
		_, _ = fmt.Fprintf(out, "%8.1f s  %s\n", p.took.Seconds(), p.what)
	}
}

// judged calls use, and when it fails keeps what can tell why. Who has interrupted it does not ask.
func judged(ctx context.Context, c cluster.Cluster, logs string, t *times, use func() error) error {
	end := t.begin("command")
	err := use()
	end()
	if err == nil || ctx.Err() != nil {
		return err
	}
	c.Failed()
	if logs == "" {
		return err
	}
	defer t.begin("logs")()
	if logErr := c.Logs(context.WithoutCancel(ctx), logs); logErr != nil {
		_, _ = fmt.Fprintln(os.Stderr, "cluster:", logErr)
		return err
	}
	_, _ = fmt.Fprintf(os.Stderr, "%s: the logs are in %s\n", c.Level(), logs)
	return err
}
