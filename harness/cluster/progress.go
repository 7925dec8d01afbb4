package cluster

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress prints one line for each finished phase with the seconds that it took.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	level Level
	phase func(what string, took time.Duration)
	since time.Time
}

func newProgress(out io.Writer, level Level, phase func(string, time.Duration)) *progress {
	return &progress{out: out, level: level, phase: phase, since: time.Now()}
}

func (p *progress) done(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	_, _ = fmt.Fprintf(p.out, "%s: %s (%.1f s)\n", p.level, what, now.Sub(p.since).Seconds())
	if p.phase != nil {
		p.phase(what, now.Sub(p.since))
	}
	p.since = now
}

// say prints a line within a phase.
func (p *progress) say(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, "%s: %s\n", p.level, what)
}
