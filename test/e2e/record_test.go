package e2e_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// warnings are those that the API server has sent to the tests and to kubectl.
type warnings struct {
	mu   sync.Mutex
	seen []string
}

// HandleWarningHeaderWithContext records one, as a client's handler.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.add(text)
}

// scan records those that kubectl prints.
func (w *warnings) scan(output string) {
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(line, "Warning: "); ok {
			w.add(strings.TrimSpace(text))
		}
	}
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, text)
}

// all are the warnings so far.
func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// times is how long each part of the run took, and why a part was left out.
type times struct {
	mu   sync.Mutex
	rows []row
}

type row struct {
	what, verdict string
	took          time.Duration
	reason        string
}

// of measures a part of the run that is no feature.
func (ts *times) of(what string, do func() error) error {
	start := time.Now()
	err := do()
	verdict := "done"
	if err != nil {
		verdict = "FAILED"
	}
	ts.add(row{what: what, verdict: verdict, took: time.Since(start)})
	return err
}

func (ts *times) add(r row) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.rows = append(ts.rows, r)
}

func (ts *times) print(out io.Writer) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t)
	for _, r := range ts.rows {
		if r.reason != "" {
			_, _ = fmt.Fprintf(t, "%s\t%s\t\t%s\n", r.what, r.verdict, r.reason)
			continue
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%.1f s\t\n", r.what, r.verdict, r.took.Seconds())
	}
	_ = t.Flush()
}
