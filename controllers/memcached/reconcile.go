package memcached

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/rollout"
	"github.com/example-inc/memcached-operator/internal/status"
	"github.com/example-inc/memcached-operator/internal/teardown"
)

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile applies what mc wants, looks at what became of it, and says so in the status. The deletion comes first and
// needs nothing of the rest.
func (r *Reconciler) Reconcile(ctx context.Context, mc *cachev1.Memcached) (ctrl.Result, error) {
	if !mc.DeletionTimestamp.IsZero() {
		return r.tearDown(ctx, mc)
	}
	if ptr.Deref(mc.Spec.Suspend, false) {
		return r.report(ctx, mc, observation{})
	}

	deploy, err := r.apply(ctx, mc)
	outcome := children.Judge(err)
	if err != nil && outcome.Refused == nil {
		return ctrl.Result{RequeueAfter: outcome.RequeueAfter}, outcome.Err // Nothing sure, nothing said.
	}
	return r.report(ctx, mc, observation{deploy: deploy, outcome: outcome})
}

// apply makes mc's children what they should be and returns the Deployment, nil where it could not be applied.
func (r *Reconciler) apply(ctx context.Context, mc *cachev1.Memcached) (*appsv1.Deployment, error) {
	if err := teardown.Hold(ctx, r.Client, mc, cachev1.Finalizer); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	wanted, unwanted := r.desired(mc)
	applied, err := r.children().ApplyAll(ctx, children.Owner{Object: mc, Labels: identity(mc)}, wanted, unwanted...)
	for _, object := range applied {
		if deploy, ok := object.(*appsv1.Deployment); ok {
			return deploy, err
		}
	}
	return nil, err
}

// tearDown lets mc go, step by step, and says in the status what it waits for.
func (r *Reconciler) tearDown(ctx context.Context, mc *cachev1.Memcached) (ctrl.Result, error) {
	waiting, err := teardown.Run(ctx, r.children(), mc, teardown.Plan{
		Finalizer: cachev1.Finalizer,
		Policy:    mc.Spec.DeletionPolicy,
		// Clients stop finding the servers before the servers go.
		Children: []client.Object{
			named(&corev1.Service{}, mc), named(&appsv1.Deployment{}, mc), named(&policyv1.PodDisruptionBudget{}, mc),
		},
		Pods: identity(mc), // Pods of others that merely match the selector may stay for ever.
	})
	if err != nil {
		outcome := children.Judge(err)
		return ctrl.Result{RequeueAfter: outcome.RequeueAfter}, outcome.Err
	}
	if waiting == "" {
		return ctrl.Result{}, nil
	}
	return r.report(ctx, mc, observation{waiting: waiting})
}

// report completes what has been seen, and says it once it stands still.
func (r *Reconciler) report(ctx context.Context, mc *cachev1.Memcached, seen observation) (ctrl.Result, error) {
	if seen.deploy == nil {
		deploy := named(&appsv1.Deployment{}, mc)
		found, err := r.children().Find(ctx, mc, deploy)
		if err != nil {
			return ctrl.Result{}, errors.Join(seen.outcome.Err, err)
		}
		if found {
			seen.deploy = deploy
		}
	}
	pods, err := rollout.Pods(ctx, r.Client, mc.Namespace, podIndex, mc.Name)
	if err != nil {
		return ctrl.Result{}, errors.Join(seen.outcome.Err, err)
	}
	view := rollout.Look(seen.deploy, pods)
	if wait := view.Settle(string(children.FieldOwner), time.Now()); wait > 0 && seen.outcome.Refused == nil && seen.waiting == "" {
		return ctrl.Result{RequeueAfter: wait}, nil
	}

	writer := status.Writer[*cachev1.Memcached, cachev1.MemcachedStatus]{Kind: kind, Client: r.Client, Live: r.Live, Recorder: r.Recorder}
	err = writer.Write(ctx, mc, func(old cachev1.MemcachedStatus) cachev1.MemcachedStatus { return next(old, mc, view, seen) })
	if err != nil {
		outcome := children.Judge(err) // Retried, whatever became of the children: they are judged anew then.
		return ctrl.Result{RequeueAfter: outcome.RequeueAfter}, outcome.Err
	}
	return ctrl.Result{RequeueAfter: seen.outcome.RequeueAfter}, seen.outcome.Err
}

func (r *Reconciler) children() *children.Set { return &children.Set{Client: r.Client, Live: r.Live} }

// named gives an empty object the name that all of mc's children have.
func named[T client.Object](object T, mc *cachev1.Memcached) T {
	object.SetName(mc.Name)
	object.SetNamespace(mc.Namespace)
	return object
}
