package conditions

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var past = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// ignoreTime leaves the transition time out of a comparison.
var ignoreTime = cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")

func since(c metav1.Condition, generation int64) metav1.Condition {
	c.ObservedGeneration, c.LastTransitionTime = generation, past
	return c
}

// knative/serving#1181, keycloak-operator#121: the transition time moves when the status flips, and only then.
func TestNextMovesTheTimeOnlyOnAFlip(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		now    metav1.Condition
		moves  bool
	}{
		"Same":          {reason: "nothing has changed", now: True("Ready", "AllReady", "3 of 3"), moves: false},
		"OtherMessage":  {reason: "a message is no flip", now: True("Ready", "AllReady", "4 of 4"), moves: false},
		"OtherReason":   {reason: "a reason is no flip", now: True("Ready", "Scaled", "3 of 3"), moves: false},
		"BecameFalse":   {reason: "a flip", now: False("Ready", "AllReady", "3 of 3"), moves: true},
		"BecameUnknown": {reason: "a flip", now: Unknown("Ready", "AllReady", "3 of 3"), moves: true},
		"OfAnotherKind": {reason: "a condition that was not there before", now: True("Degraded", "AllReady", "3 of 3"), moves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := []metav1.Condition{since(True("Ready", "AllReady", "3 of 3"), 1)}
			for generation := int64(1); generation < 3; generation++ { // A new generation is no flip either.
				next := Next(old, generation, tc.now)
				got := next[len(next)-1]
				if moved := !got.LastTransitionTime.Equal(&past); moved != tc.moves {
					t.Errorf("%s: at generation %d the transition time moved: %t, want %t", tc.reason, generation, moved, tc.moves)
				}
			}
		})
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	old := []metav1.Condition{since(True("Ready", "AllReady", ""), 1), since(True("Foreign", "Kept", "as it is"), 1)}
	before := []metav1.Condition{old[0], old[1]}
	want := []metav1.Condition{since(False("Ready", "Pending", "0 of 1"), 2), old[1], since(Unknown("Degraded", "NotSeen", ""), 2)}

	got := Next(old, 2, False("Ready", "Pending", "0 of 1"), Unknown("Degraded", "NotSeen", ""))
	if diff := cmp.Diff(want, got, ignoreTime); diff != "" {
		t.Errorf("Next() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, old); diff != "" {
		t.Errorf("Next() has changed what it was given (-before +after):\n%s", diff)
	}
}

// What is said again is equal to what was said, so that nothing is written.
func TestNextIsIdempotent(t *testing.T) {
	t.Parallel()
	kinds := rapid.SampledFrom([]string{"Available", "Progressing", "Degraded"})
	make := rapid.SampledFrom([]func(string, string, string) metav1.Condition{True, False, Unknown})
	rapid.Check(t, func(t *rapid.T) {
		draw := func() metav1.Condition {
			return make.Draw(t, "status")(kinds.Draw(t, "kind"), "Reason", rapid.StringN(-1, -1, 100).Draw(t, "message"))
		}
		once := Next(nil, 1, draw(), draw())
		again := draw()
		twice := Next(once, 2, again)
		if diff := cmp.Diff(twice, Next(twice, 2, again)); diff != "" {
			t.Errorf("said twice (-once +twice):\n%s", diff)
		}
	})
}

// A condition with a message that the schema refuses would keep the whole status from being written.
func TestMessagesFitTheSchema(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"ASCII":   strings.Repeat("x", 40000),
		"Unicode": strings.Repeat("€", 40000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Next(nil, 1, True("Degraded", "InvalidSpec", text))[0].Message
			if len(got) > 32768 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
				t.Errorf("a message of %d bytes became one of %d, valid %t", len(text), len(got), utf8.ValidString(got))
			}
		})
	}
	if got := Next(nil, 1, True("Degraded", "InvalidSpec", strings.Repeat("x", 32768)))[0].Message; len(got) != 32768 {
		t.Errorf("a message that fits was cut to %d bytes", len(got))
	}
}
