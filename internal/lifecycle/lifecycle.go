// Package lifecycle is one reconcile of a resource that runs a Deployment: tear down what is being deleted, or apply what is
// wanted, look at what became of it, and say so in the status. What a kind wants and says is the kind's own.
package lifecycle

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/rollout"
	"github.com/example-inc/memcached-operator/internal/status"
	"github.com/example-inc/memcached-operator/internal/teardown"
)

// Kind is what sets one kind apart. None of its functions does I/O.
type Kind[T client.Object, S any] struct {
	// Status is how the kind keeps its status.
	Status status.Kind[T, S]
	// Finalizer holds a resource back until its children are gone or given up.
	Finalizer string
	// PodIndex is the index of pods by the resource that their labels name.
	PodIndex string
	// Identity is on every child of a resource and on no other's.
	Identity func(T) map[string]string
	// Suspended tells whether the operator is to report only.
	Suspended func(T) bool
	// Policy is a resource's deletion policy.
	Policy func(T) workload.DeletionPolicy
	// Children are empty objects with the kind and name of all that a resource may own, in the order in which they go.
	Children func(T) []client.Object
	// Next is the status after old, of what has been seen of a resource.
	Next func(old S, object T, view rollout.View, seen Observation) S
}

// Desired is everything that a resource owns, in the order in which it must exist, and what it must not own.
type Desired[T client.Object] func(T) (wanted []children.Child, unwanted []client.Object)

// Observation is what a reconcile has seen besides the pods.
type Observation struct {
	// Deployment is as it was applied; nil to look for it in the cache.
	Deployment *appsv1.Deployment
	// Outcome is that of the attempt to apply the children.
	Outcome children.Outcome
	// Waiting is what the deletion waits for; empty while the resource lives.
	Waiting string
}

// Reconciler reconciles resources of one kind.
type Reconciler[T client.Object, S any] struct {
	Kind     Kind[T, S]
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
}

// Reconcile takes object one step on. The deletion comes first and needs nothing of the rest.
func (r *Reconciler[T, S]) Reconcile(ctx context.Context, object T, desired Desired[T]) (ctrl.Result, error) {
	if !object.GetDeletionTimestamp().IsZero() {
		return r.tearDown(ctx, object)
	}
	if r.Kind.Suspended(object) {
		return r.report(ctx, object, Observation{})
	}

	deploy, err := r.apply(ctx, object, desired)
	outcome := children.Judge(err)
	if err != nil && outcome.Refused == nil {
		return ctrl.Result{RequeueAfter: outcome.RequeueAfter}, outcome.Err // Nothing sure, nothing said.
	}
	return r.report(ctx, object, Observation{Deployment: deploy, Outcome: outcome})
}

// apply makes object's children what they should be and returns the Deployment, nil where it could not be applied.
func (r *Reconciler[T, S]) apply(ctx context.Context, object T, desired Desired[T]) (*appsv1.Deployment, error) {
	if err := teardown.Hold(ctx, r.Client, object, r.Kind.Finalizer); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	wanted, unwanted := desired(object)
	owner := children.Owner{Object: object, Labels: r.Kind.Identity(object)}
	applied, err := r.children().ApplyAll(ctx, owner, wanted, unwanted...)
	for _, child := range applied {
		if deploy, ok := child.(*appsv1.Deployment); ok {
			return deploy, err
		}
	}
	return nil, err
}

// tearDown lets object go, step by step, and says in the status what it waits for.
func (r *Reconciler[T, S]) tearDown(ctx context.Context, object T) (ctrl.Result, error) {
	waiting, err := teardown.Run(ctx, r.children(), object, teardown.Plan{
		Finalizer: r.Kind.Finalizer,
		Policy:    r.Kind.Policy(object),
		Children:  r.Kind.Children(object),
		Pods:      r.Kind.Identity(object), // Pods of others that merely match the selector may stay for ever.
	})
	if err != nil {
		outcome := children.Judge(err)
		return ctrl.Result{RequeueAfter: outcome.RequeueAfter}, outcome.Err
	}
	if waiting == "" {
		return ctrl.Result{}, nil
	}
	return r.report(ctx, object, Observation{Waiting: waiting})
}

// report completes what has been seen, and says it once it stands still.
func (r *Reconciler[T, S]) report(ctx context.Context, object T, seen Observation) (ctrl.Result, error) {
	if seen.Deployment == nil {
		deploy := children.Named(&appsv1.Deployment{}, object)
		found, err := r.children().Find(ctx, object, deploy)
		if err != nil {
			return ctrl.Result{}, errors.Join(seen.Outcome.Err, err)
		}
		if found {
			seen.Deployment = deploy
		}
	}
	pods, err := rollout.Pods(ctx, r.Client, object.GetNamespace(), r.Kind.PodIndex, object.GetName())
	if err != nil {
		return ctrl.Result{}, errors.Join(seen.Outcome.Err, err)
	}
	view := rollout.Look(seen.Deployment, pods)
	if wait := view.Settle(string(children.FieldOwner), time.Now()); wait > 0 && seen.Outcome.Refused == nil && seen.Waiting == "" {
		return ctrl.Result{RequeueAfter: wait}, nil
	}

	writer := status.Writer[T, S]{Kind: r.Kind.Status, Client: r.Client, Live: r.Live, Recorder: r.Recorder}
	if err := writer.Write(ctx, object, func(old S) S { return r.Kind.Next(old, object, view, seen) }); err != nil {
		outcome := children.Judge(err) // Retried, whatever became of the children: they are judged anew then.
		return ctrl.Result{RequeueAfter: outcome.RequeueAfter}, outcome.Err
	}
	return ctrl.Result{RequeueAfter: seen.Outcome.RequeueAfter}, seen.Outcome.Err
}

func (r *Reconciler[T, S]) children() *children.Set {
	return &children.Set{Client: r.Client, Live: r.Live}
}
