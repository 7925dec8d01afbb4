package main

import "runtime/debug"

// gcPercent is half of Go's default. A manager holds a large cache and hardly works, so that what the collector leaves lying
// for its own convenience is most of what it could save: about a quarter of the memory for a few percent of little CPU time.
const gcPercent = 50

// limitGarbage has the garbage collected earlier, unless the environment says when.
func limitGarbage(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
