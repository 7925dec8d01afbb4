package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// figure is one thing that is measured: of the operator, and of the tutorial's where it has such a thing.
type figure struct {
	name     string
	ours     float64
	tutorial *float64
	bound    *float64 // At most; nil where the figure is only told.
	digits   int
}

// ok tells whether the figure keeps its bound.
func (f figure) ok() bool { return f.bound == nil || f.ours <= *f.bound }

func (f figure) format(value *float64) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", f.digits, *value)
}

func (f figure) verdict() string {
	switch {
	case f.bound == nil:
		return ""
	case f.ok():
		return "ok"
	default:
		return "over"
	}
}

// figures are told as they are measured, one a line, and all together in the end.
type figures struct {
	out io.Writer
	all []figure
}

// add prints the figure's name and value, and beside them the tutorial's value.
func (fs *figures) add(f figure) {
	fs.all = append(fs.all, f)
	_, _ = fmt.Fprintf(fs.out, "%s %s", f.name, f.format(&f.ours))
	if f.tutorial != nil {
		_, _ = fmt.Fprintf(fs.out, " tutorial %s", f.format(f.tutorial))
	}
	_, _ = fmt.Fprintln(fs.out)
}

// table prints all figures beside their bounds, and tells whether all of them are kept.
func (fs *figures) table(out io.Writer) (ok bool) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "figure\tours\ttutorial\tat most\t\t")
	for _, f := range fs.all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", f.name, f.format(&f.ours), f.format(f.tutorial), f.format(f.bound), f.verdict())
	}
	_ = w.Flush()
	return !slices.ContainsFunc(fs.all, func(f figure) bool { return !f.ok() })
}

// median of values, of which there must be one at least.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// medianRatio is the median of the ratios of what was measured in pairs: what slows the machine down for a while slows
// both of a pair down.
func medianRatio(over, under []float64) float64 {
	ratios := make([]float64, len(over))
	for i := range over {
		ratios[i] = over[i] / under[i]
	}
	return median(ratios)
}
