// Package status says in a resource's status what has been seen, once.
package status

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/conditions"
)

// maxNote is the most that the API server takes as the note of an event.
const maxNote = 1024

// Kind tells the Writer how a kind keeps its status.
type Kind[T client.Object, S any] struct {
	// New makes an empty resource.
	New func() T
	// Of is the place of the status in a resource.
	Of func(T) *S
	// Conditions and ObservedGeneration are read from a status.
	Conditions         func(*S) []metav1.Condition
	ObservedGeneration func(*S) int64
	// Apply is the configuration that applies a status to a resource, pinned to its UID.
	Apply func(T, S) (runtime.ApplyConfiguration, error)
}

// Writer writes statuses, and records an event where Degraded changes.
type Writer[T client.Object, S any] struct {
	Kind     Kind[T, S]
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
}

// Write makes the status of object what say makes of the present one; say must be pure. It writes nothing where that is
// equal, to a namesake of object, or over a status of a later generation. The cache only tells that there may be something to
// write: the API server is asked before a write, since the cache may not have seen the last one.
func (w *Writer[T, S]) Write(ctx context.Context, object T, say func(S) S) error {
	if now := *w.Kind.Of(object); equality.Semantic.DeepEqual(now, say(now)) {
		return nil
	}
	live := w.Kind.New()
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("reading the present status: %w", err)
	}
	now := *w.Kind.Of(live)
	if live.GetUID() != object.GetUID() || w.Kind.ObservedGeneration(&now) > object.GetGeneration() {
		return nil
	}
	next := say(now)
	if equality.Semantic.DeepEqual(now, next) {
		return nil
	}
	configuration, err := w.Kind.Apply(object, next)
	if err != nil {
		return err
	}
	if err := w.Client.Status().Apply(ctx, configuration, client.ForceOwnership); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("applying the status: %w", err)
	}
	w.announce(object, w.Kind.Conditions(&now), w.Kind.Conditions(&next))
	return nil
}

// announce records an event where Degraded has changed, and only there.
func (w *Writer[T, S]) announce(object T, before, after []metav1.Condition) {
	was := meta.FindStatusCondition(before, workload.ConditionDegraded)
	is := meta.FindStatusCondition(after, workload.ConditionDegraded)
	bad := func(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }
	switch {
	case bad(is) && (!bad(was) || was.Reason != is.Reason):
		w.Recorder.Eventf(object, nil, corev1.EventTypeWarning, is.Reason, "Reconcile", "%s", conditions.Clip(is.Message, maxNote))
	case bad(was) && !bad(is):
		w.Recorder.Eventf(object, nil, corev1.EventTypeNormal, "Recovered", "Reconcile", "%s has passed", was.Reason)
	}
}

// Configure fills the generated apply configuration of a status, into, from status. The two have the same
// fields, and what a status omits when it is empty is given up by the apply.
func Configure(status, into any) error {
	data, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decoding the status: %w", err)
	}
	return nil
}
