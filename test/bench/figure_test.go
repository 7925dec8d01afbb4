package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		values []float64
		want   float64
	}{
		"One":  {reason: "one value is its own median", values: []float64{3}, want: 3},
		"Odd":  {reason: "an outlier does not count, wherever it stands", values: []float64{100, 1, 2}, want: 2},
		"Even": {reason: "between the two in the middle", values: []float64{4, 1, 2, 9}, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := tc.values[0]
			if got := median(tc.values); got != tc.want {
				t.Errorf("%s: median(%v) = %v, want %v", tc.reason, tc.values, got, tc.want)
			}
			if tc.values[0] != first {
				t.Errorf("median has sorted its argument: %v", tc.values)
			}
		})
	}
}

// A machine that is slow during one pair slows both down: neither median shows the ratio then, the pairs do.
func TestMedianRatioComparesWithinPairs(t *testing.T) {
	t.Parallel()
	over, under := []float64{2, 20, 3}, []float64{1, 10, 2}
	if got := medianRatio(over, under); got != 2 {
		t.Errorf("medianRatio(%v, %v) = %v, want 2", over, under, got)
	}
}

func TestFiguresAreJudgedByTheirBounds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		figure figure
		line   string
		row    string
		want   bool
	}{
		"AtTheBound": {
			reason: "at most means that the bound itself is allowed",
			figure: figure{name: "writes", ours: 5, tutorial: new(4.0), bound: new(5.0), digits: 2},
			line:   "writes 5.00 tutorial 4.00\n", row: "writes 5.00 4.00 5.00 ok", want: true,
		},
		"Over": {
			reason: "what rounding hides is over all the same",
			figure: figure{name: "ratio", ours: 1.1001, bound: new(1.1), digits: 2},
			line:   "ratio 1.10\n", row: "ratio 1.10 - 1.10 over",
		},
		"OneWriteTooMany": {
			reason: "0 is a bound, not its absence",
			figure: figure{name: "settled", ours: 1, tutorial: new(0.0), bound: new(0.0)},
			line:   "settled 1 tutorial 0\n", row: "settled 1 0 0 over",
		},
		"Unbounded": {
			reason: "a figure without a bound is only told",
			figure: figure{name: "seconds", ours: 99, digits: 1},
			line:   "seconds 99.0\n", row: "seconds 99.0 - -", want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines, table bytes.Buffer
			fs := &figures{out: &lines}
			fs.add(tc.figure)
			if got := fs.table(&table); got != tc.want {
				t.Errorf("%s: table() = %v, want %v", tc.reason, got, tc.want)
			}
			if lines.String() != tc.line {
				t.Errorf("%s: add() printed %q, want %q", tc.reason, lines.String(), tc.line)
			}
			if !strings.Contains(strings.Join(strings.Fields(table.String()), " "), tc.row) {
				t.Errorf("%s: want the row %q, got\n%s", tc.reason, tc.row, table.String())
			}
		})
	}
}
