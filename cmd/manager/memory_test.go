package main

import (
	"runtime/debug"
	"testing"
)

// The percentage belongs to the whole process, so that this test does not run beside others.
func TestGarbageIsLimitedUnlessTheEnvironmentSaysOtherwise(t *testing.T) {
	const other = 77
	before := debug.SetGCPercent(other)
	t.Cleanup(func() { debug.SetGCPercent(before) })

	limitGarbage(env{"GOGC": "200"}.get)
	if got := debug.SetGCPercent(other); got != other {
		t.Errorf("limitGarbage overrules GOGC with %d", got)
	}
	limitGarbage(env{}.get)
	if got := debug.SetGCPercent(other); got != gcPercent {
		t.Errorf("limitGarbage leaves the percentage at %d, want %d", got, gcPercent)
	}
}
