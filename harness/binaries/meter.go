package binaries

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// barPeriod is how often a bar on a terminal is drawn, linePeriod how often a line is printed elsewhere.
	barPeriod  = 200 * time.Millisecond
	linePeriod = 15 * time.Second
	barWidth   = 30
)

// meter shows how far a piece of work is: a bar on a terminal, a line now and then elsewhere.
type meter struct {
	out      io.Writer
	terminal bool
	unit     unit
	now      func() time.Time

	mu          sync.Mutex
	label       string
	done, total int64
	// extra is work that is not counted in units but takes time, such as linking; spent is how much of it is over.
	extra, spent float64
	started      time.Time
	expected     time.Duration
	width        int

	ended   chan struct{}
	drawing sync.WaitGroup
}

// unit prints an amount of work, and names what it is an amount of where that is not plain.
type unit struct {
	print func(uint64) string
	noun  string
}

var (
	bytesUnit    = unit{print: size}
	packagesUnit = unit{print: func(n uint64) string { return fmt.Sprint(n) }, noun: " packages"}
	modulesUnit  = unit{print: func(n uint64) string { return fmt.Sprint(n) }, noun: " modules"}
)

// newMeter starts to show progress on total units of work, -1 when nobody knows how many.
func newMeter(out io.Writer, label string, unit unit, total int64) *meter {
	file, ok := out.(*os.File)
	m := &meter{
		out: out, terminal: ok && term.IsTerminal(int(file.Fd())), unit: unit, now: time.Now,
		label: label, total: total, ended: make(chan struct{}),
	}
	m.started = m.now()
	period := linePeriod
	if m.terminal {
		period = barPeriod
	}
	m.drawing.Go(func() { m.run(period) })
	return m
}

func (m *meter) run(period time.Duration) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.draw()
		case <-m.ended:
			return
		}
	}
}

// add says that n more units are done.
func (m *meter) add(n int64) { m.update(func() { m.done += n }) }

// name says what is being worked on.
func (m *meter) name(label string) { m.update(func() { m.label = label }) }

func (m *meter) update(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// stop ends the show and clears the bar.
func (m *meter) stop() {
	close(m.ended)
	m.drawing.Wait()
	if m.terminal && m.width > 0 {
		fmt.Fprintf(m.out, "\r%*s\r", m.width, "")
	}
}

func (m *meter) draw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.terminal {
		fmt.Fprintf(m.out, "harness: %s\n", m.text())
		return
	}
	line := m.text()
	if m.total >= 0 {
		filled := int(m.fraction() * barWidth)
		line = fmt.Sprintf("[%s%s] %s", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), line)
	}
	if width, _, err := term.GetSize(int(m.out.(*os.File).Fd())); err == nil && width > 1 && len(line) >= width {
		line = line[:width-1] // A bar that wraps cannot be drawn over.
	}
	fmt.Fprintf(m.out, "\r%-*s", m.width, line)
	m.width = len(line)
}

// text is the state in words; the caller holds the lock.
func (m *meter) text() string {
	if m.total < 0 {
		return fmt.Sprintf("%s: %s%s", m.label, m.unit.print(uint64(m.done)), m.unit.noun)
	}
	fraction := m.fraction()
	text := m.label + ": "
	if m.total > 0 {
		text += fmt.Sprintf("%s of %s%s, ", m.unit.print(uint64(min(m.done, m.total))), m.unit.print(uint64(m.total)), m.unit.noun)
	}
	text += fmt.Sprintf("%.0f%%", 100*fraction)
	if left := m.left(fraction); left > 0 {
		text += ", about " + roughly(left) + " left"
	}
	return text
}

// fraction is the part of the work that is done, never quite all of it while the meter runs.
func (m *meter) fraction() float64 {
	total := float64(m.total) + m.extra
	if total <= 0 {
		return 0
	}
	return min((float64(min(m.done, m.total))+m.spent)/total, 0.99)
}

// left goes by the pace so far, and by what was expected as long as there is no pace to speak of.
func (m *meter) left(fraction float64) time.Duration {
	elapsed := m.now().Sub(m.started)
	pace := time.Duration(0)
	if fraction > 0 {
		pace = time.Duration(float64(elapsed) * (1 - fraction) / fraction)
	}
	trust := min(fraction*5, 1)
	if m.expected == 0 {
		trust = 1
	}
	return time.Duration(trust*float64(pace) + (1-trust)*float64(max(m.expected-elapsed, 0)))
}

// roughly prints a duration the way people estimate one.
func roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "10 s"
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", (d+5*time.Second)/(10*time.Second)*10)
	}
	return fmt.Sprintf("%d min", (d+30*time.Second)/time.Minute)
}
