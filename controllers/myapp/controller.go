// Package myapp turns a MyApp into a Deployment of its image behind a Service.
package myapp

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/internal/proxy"
)

// Name is the controller's name in logs, metrics and events.
const Name = "myapp"

// podIndex is the index of pods by the MyApp that their labels name.
const podIndex = "myapp"

// Reconciler reconciles MyApps.
type Reconciler struct {
	// Client reads from the cache and writes as children.FieldOwner.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder records an event when a MyApp becomes degraded or recovers.
	Recorder events.EventRecorder
	// Proxy is handed to the pods.
	Proxy []proxy.Setting
}

var _ reconcile.ObjectReconciler[*appv1alpha1.MyApp] = (*Reconciler)(nil)

// SetupWithManager says what wakes the reconciler up: a new spec or a deletion, any change of a child, and any change of a
// pod that the cache keeps. Its own status writes do not.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podIndex, indexPod); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(options).
		For(&appv1alpha1.MyApp{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(requestOfPod)).
		Complete(reconcile.AsReconciler(r.Client, r))
}

// indexPod is the name of the MyApp that a pod belongs to by its labels.
func indexPod(pod client.Object) []string {
	labels := pod.GetLabels()
	if labels[labelName] != appName || labels[labelInstance] == "" {
		return nil
	}
	return []string{labels[labelInstance]}
}

func requestOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	names := indexPod(pod)
	requests := make([]reconcile.Request, 0, len(names))
	for _, name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}})
	}
	return requests
}
