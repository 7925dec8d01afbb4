package children

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
)

// said is an Outcome in short.
func said(o Outcome) string {
	reason, loud := "-", "quiet"
	if o.Refused != nil {
		reason = o.Refused.Reason
	}
	switch {
	case errors.Is(o.Err, reconcile.TerminalError(nil)):
		loud = "terminal"
	case o.Err != nil:
		loud = "loud"
	}
	return fmt.Sprintf("%s %v %s", reason, o.RequeueAfter, loud)
}

// every is one error of each kind, as Apply returns it, and what it means.
func every() map[string]struct {
	err  error
	want string
} {
	api := fakeapi.Errors()
	apply := func(err error) error { return fmt.Errorf("applying Service demo: %w", err) }
	return map[string]struct {
		err  error
		want string
	}{
		"None":                 {nil, "- 0s quiet"},
		"ForeignOwner":         {&ConflictError{Object: "Service demo", Owner: "MyApp other"}, workload.ReasonResourceConflict + " 10s quiet"},
		"Terminating":          {apply(ErrTerminating), "- 10s quiet"},
		"Conflict":             {apply(api["Conflict"]), "- 1s quiet"},
		"AlreadyExists":        {apply(api["AlreadyExists"]), "- 1s quiet"}, // controller-runtime#1464: a stale read, not trouble.
		"NamespaceTerminating": {apply(api["NamespaceTerminating"]), "- 0s quiet"},
		"Invalid":              {apply(api["Invalid"]), workload.ReasonInvalidSpec + " 0s terminal"},
		"BadRequest":           {apply(api["BadRequest"]), workload.ReasonInvalidSpec + " 0s terminal"},
		"Forbidden":            {apply(api["Forbidden"]), workload.ReasonForbidden + " 0s loud"},
		"NotFound":             {apply(api["NotFound"]), "- 0s loud"},
		"InternalError":        {apply(api["InternalError"]), "- 0s loud"},
		"Timeout":              {apply(api["Timeout"]), "- 0s loud"},
		"TooManyRequests":      {apply(api["TooManyRequests"]), "- 0s loud"},
		"ServiceUnavailable":   {apply(api["ServiceUnavailable"]), "- 0s loud"},
		"Reset":                {apply(api["Reset"]), "- 0s loud"},
	}
}

func TestJudgeOfOne(t *testing.T) {
	t.Parallel()
	for name, tc := range every() {
		for form, err := range map[string]error{"alone": tc.err, "joined": errors.Join(tc.err), "with nil": errors.Join(nil, tc.err)} {
			if got := said(Judge(err)); got != tc.want {
				t.Errorf("%s, %s: Judge() says %q, want %q", name, form, got, tc.want)
			}
		}
	}
}

func TestJudgeOfSeveral(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		errs   []string
		want   string
	}{
		"FirstReason":        {reason: "the first reason is told", errs: []string{"Forbidden", "ForeignOwner"}, want: workload.ReasonForbidden + " 10s loud"},
		"FirstReasonAgain":   {reason: "in the order of the children", errs: []string{"ForeignOwner", "Forbidden"}, want: workload.ReasonResourceConflict + " 10s loud"},
		"LoudAndQuiet":       {reason: "what has to be retried with back-off is, whatever else there is", errs: []string{"Conflict", "Reset"}, want: "- 1s loud"},
		"LoudAndTerminal":    {reason: "as long as one error may pass, it is tried again", errs: []string{"Invalid", "Reset"}, want: workload.ReasonInvalidSpec + " 0s loud"},
		"TerminalAndForeign": {reason: "the name may be freed, though the spec stays wrong", errs: []string{"Invalid", "ForeignOwner"}, want: workload.ReasonInvalidSpec + " 10s quiet"},
		"TwoTerminal":        {reason: "none will pass", errs: []string{"Invalid", "BadRequest"}, want: workload.ReasonInvalidSpec + " 0s terminal"},
		"Soonest":            {reason: "the shortest wait counts", errs: []string{"Terminating", "Conflict"}, want: "- 1s quiet"},
		"SoonestFirst":       {reason: "in either order", errs: []string{"Conflict", "Terminating"}, want: "- 1s quiet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var errs []error
			for _, kind := range tc.errs {
				errs = append(errs, every()[kind].err)
			}
			if got := said(Judge(errors.Join(errs...))); got != tc.want {
				t.Errorf("%s: Judge() says %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// No error is lost: each is told, retried, or known to end by itself; and the order decides only which reason is told.
func TestJudgeLosesNothing(t *testing.T) {
	t.Parallel()
	all := every()
	var names []string
	for name := range all {
		names = append(names, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOfN(rapid.SampledFrom(names), 0, 5).Draw(t, "errors")
		var errs, reversed []error
		for _, name := range drawn {
			errs, reversed = append(errs, all[name].err), append([]error{all[name].err}, reversed...)
		}
		got, again := Judge(errors.Join(errs...)), Judge(errors.Join(reversed...))
		if (got.Refused == nil) != (again.Refused == nil) || got.RequeueAfter != again.RequeueAfter || (got.Err == nil) != (again.Err == nil) {
			t.Errorf("in one order %q, in the other %q", said(got), said(again))
		}
		for _, name := range drawn {
			one := Judge(all[name].err)
			if one.Refused != nil && got.Refused == nil {
				t.Errorf("%s is not told", name)
			}
			if one.RequeueAfter > 0 && (got.RequeueAfter == 0 || got.RequeueAfter > one.RequeueAfter) {
				t.Errorf("%s is looked at again after %v, not %v", name, got.RequeueAfter, one.RequeueAfter)
			}
			if terminal := errors.Is(one.Err, reconcile.TerminalError(nil)); one.Err != nil && !terminal && !errors.Is(got.Err, all[name].err) {
				t.Errorf("%s is not returned", name)
			}
		}
	})
}

func TestConflictError(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]ConflictError{
		"Service demo exists and belongs to MyApp other; delete or rename it":       {Object: "Service demo", Owner: "MyApp other"},
		"Service demo exists and was not made by the operator; delete or rename it": {Object: "Service demo"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("Error() = %q, want %q", got, want)
		}
	}
	if recheck < time.Second || catchUp <= 0 {
		t.Errorf("waits of %v and %v make a hot loop", recheck, catchUp)
	}
}
