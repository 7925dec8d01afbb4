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
	since time.Time
}

func newProgress(out io.Writer, level Level) *progress {
	return &progress{out: out, level: level, since: time.Now()}
}

func (p *progress) done(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	_, _ = fmt.Fprintf(p.out, "%s: %s (%.1f s)\n", p.level, what, now.Sub(p.since).Seconds())
	p.since = now
}
