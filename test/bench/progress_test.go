package main

import (
	"bytes"
	"testing"
	"time"
)

func TestTimeLeftFollowsThePace(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var out bytes.Buffer
	p := &progress{out: &out, now: func() time.Time { return now }, planned: 200 * time.Second}
	expect := func(line string) {
		t.Helper()
		out.Reset()
		p.say("work")
		if out.String() != line {
			t.Errorf("say() printed %q, want %q", out.String(), line)
		}
	}
	p.start("one", 50*time.Second)
	expect("bench: one: work (about 3 min left)\n")
	now = now.Add(100 * time.Second) // Twice as long as estimated, and so may the rest.
	expect("bench: one: work (about 5 min left)\n")
	p.finish()
	p.start("two", 150*time.Second)
	expect("bench: two: work (about 5 min left)\n")
	now = now.Add(299 * time.Second)
	expect("bench: two: work (about 1 s left)\n")
	now = now.Add(time.Hour)
	expect("bench: two: work (about 0 s left)\n")
}
