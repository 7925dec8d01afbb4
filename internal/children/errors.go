package children

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/rollout"
)

// ErrTerminating means that an earlier object of the name has to go before the child can be created.
var ErrTerminating = errors.New("is still being deleted")

// errOwnerGone means that the owner is being deleted, or was, although the cache does not know it yet.
var errOwnerGone = errors.New("not adopted: its owner is being deleted")

const (
	// recheck is the time until a name that somebody else holds is looked at again: objects of others are
	// not watched, so no event tells that the name is free.
	recheck = 10 * time.Second
	// catchUp is the time that the cache is given after it was seen to be behind.
	catchUp = time.Second
)

// ConflictError means that an object of the child's name belongs to somebody else.
type ConflictError struct {
	// Object is the kind and name of the object.
	Object string
	// Owner is the kind and name of its controller, or empty where it has none.
	Owner string
}

// Error says whose the object is and what to do.
func (e *ConflictError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s exists and was not made by the operator; delete or rename it", e.Object)
	}
	return fmt.Sprintf("%s exists and belongs to %s; delete or rename it", e.Object, e.Owner)
}

// Outcome is what a failed Apply means for the reconcile.
type Outcome struct {
	// Refused is for the condition Degraded; nil where the error will pass by itself.
	Refused *rollout.Trouble
	// RequeueAfter is when to look again where no event will tell; 0 where one will, or where Err is retried.
	RequeueAfter time.Duration
	// Err is what the reconcile returns, to be logged and retried with back-off; nil where it need not be.
	Err error
}

// Judge sorts the errors that Apply returned, joined or alone. A conflict of any kind is a quiet retry; what only
// a change of the spec can cure is a terminal error; a read error is never taken for absence.
func Judge(err error) Outcome {
	var out Outcome
	var loud, terminal []error
	for _, e := range split(err) {
		var conflict *ConflictError
		switch {
		case errors.As(e, &conflict):
			out.degrade(workload.ReasonResourceConflict, e)
			out.again(recheck)
		case errors.Is(e, ErrTerminating):
			out.again(recheck)
		case apierrors.IsConflict(e), apierrors.IsAlreadyExists(e), errors.Is(e, errOwnerGone):
			out.again(catchUp)
		case apierrors.HasStatusCause(e, corev1.NamespaceTerminatingCause):
			// The owner is about to be deleted with its namespace; there is nothing left to do.
		case apierrors.IsInvalid(e), apierrors.IsBadRequest(e):
			out.degrade(workload.ReasonInvalidSpec, e)
			terminal = append(terminal, e)
		case apierrors.IsForbidden(e):
			out.degrade(workload.ReasonForbidden, e)
			loud = append(loud, e)
		default:
			loud = append(loud, e)
		}
	}
	switch {
	case len(loud) > 0:
		out.Err = errors.Join(append(loud, terminal...)...)
	case len(terminal) > 0 && out.RequeueAfter == 0:
		out.Err = reconcile.TerminalError(errors.Join(terminal...))
	}
	return out
}

// degrade keeps the first reason.
func (o *Outcome) degrade(reason string, err error) {
	if o.Refused == nil {
		o.Refused = &rollout.Trouble{Reason: reason, Message: err.Error()}
	}
}

// again keeps the shortest wait.
func (o *Outcome) again(after time.Duration) {
	if o.RequeueAfter == 0 || after < o.RequeueAfter {
		o.RequeueAfter = after
	}
}

// split undoes errors.Join.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
