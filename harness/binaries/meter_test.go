package binaries

import (
	"strings"
	"testing"
	"time"
)

func TestMeterText(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		reason  string
		meter   *meter
		elapsed time.Duration
		want    string
	}{
		"Start": {
			reason: "without a pace, what was expected is all there is to say",
			meter:  &meter{label: "building etcd", unit: packagesUnit, total: 200, expected: 10 * time.Minute},
			want:   "building etcd: 0 of 200 packages, 0%, about 10 min left",
		},
		"HalfWay": {
			reason: "the pace so far counts, not what was expected",
			meter:  &meter{label: "building etcd", unit: packagesUnit, total: 200, done: 100, expected: time.Hour}, elapsed: 3 * time.Minute,
			want: "building etcd: 100 of 200 packages, 50%, about 3 min left",
		},
		"LinkingCounts": {
			reason: "all packages are done, but the programs are not linked",
			meter:  &meter{label: "linking etcd", unit: packagesUnit, total: 100, done: 100, extra: 100}, elapsed: time.Minute,
			want: "linking etcd: 100 of 100 packages, 50%, about 60 s left",
		},
		"MoreThanExpected": {
			reason: "a wrong estimate never shows as more than everything",
			meter:  &meter{label: "building etcd", unit: packagesUnit, total: 100, done: 130}, elapsed: time.Minute,
			want: "building etcd: 100 of 100 packages, 99%, about 10 s left",
		},
		"OnlyLinking": {
			reason: "nought of nought packages is no news",
			meter:  &meter{label: "linking etcd", unit: packagesUnit, extra: 10, spent: 5}, elapsed: 20 * time.Second,
			want: "linking etcd: 50%, about 20 s left",
		},
		"Bytes": {
			reason: "downloads count bytes",
			meter:  &meter{label: "etcd.tar.gz", unit: bytesUnit, total: 20 << 20, done: 5 << 20}, elapsed: 10 * time.Second,
			want: "etcd.tar.gz: 5 MiB of 20 MiB, 25%, about 30 s left",
		},
		"TotalUnknown": {
			reason: "some servers do not say how much comes",
			meter:  &meter{label: "reading the sources, fetched", unit: modulesUnit, total: -1, done: 7},
			want:   "reading the sources, fetched: 7 modules",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.meter.started = start
			tc.meter.now = func() time.Time { return start.Add(tc.elapsed) }
			if got := tc.meter.text(); got != tc.want {
				t.Errorf("%s: text() = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestMeterPrintsPlainLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	out := newOutput()
	m := newMeter(out, "building etcd", packagesUnit, 2)
	m.add(1)
	m.draw()
	m.stop()
	if got := out.String(); !strings.HasPrefix(got, "harness: building etcd: 1 of 2 packages, 50%") || strings.ContainsAny(got, "\r[") || strings.Count(got, "\n") != 1 {
		t.Errorf("want one plain line, got %q", got)
	}
}
