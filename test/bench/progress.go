package main

import (
	"fmt"
	"io"
	"time"
)

// progress tells what is being done and about how long the rest takes.
type progress struct {
	out io.Writer
	now func() time.Time

	planned, finished, spent time.Duration // Estimates of all sections and of the finished ones; what those really took.
	section                  string
	estimate                 time.Duration
	begin                    time.Time
}

// start begins a section.
func (p *progress) start(section string, estimate time.Duration) {
	p.section, p.estimate, p.begin = section, estimate, p.now()
}

// finish ends the section.
func (p *progress) finish() {
	p.spent += p.now().Sub(p.begin)
	p.finished += p.estimate
}

// say prints one line.
func (p *progress) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, "bench: %s: %s (%s)\n", p.section, fmt.Sprintf(format, args...), left(p.left()))
}

// left is what the estimates say, corrected by how far they were off up to now.
func (p *progress) left() time.Duration {
	pace := 1.0
	if p.finished > 0 {
		pace = float64(p.spent) / float64(p.finished)
	}
	elapsed := p.now().Sub(p.begin)
	if p.estimate > 0 {
		pace = max(pace, float64(elapsed)/float64(p.estimate))
	}
	section := time.Duration(float64(p.estimate)*pace) - elapsed
	rest := time.Duration(float64(p.planned-p.finished-p.estimate) * pace)
	return max(0, section) + max(0, rest)
}

func left(d time.Duration) string {
	if d < 90*time.Second {
		return fmt.Sprintf("about %d s left", int(d.Round(time.Second).Seconds()))
	}
	return fmt.Sprintf("about %d min left", int(d.Round(time.Minute).Minutes()))
}
