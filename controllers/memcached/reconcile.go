package memcached

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/lifecycle"
)

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile applies what mc wants, looks at what became of it, and says so in the status.
func (r *Reconciler) Reconcile(ctx context.Context, mc *cachev1.Memcached) (ctrl.Result, error) {
	life := lifecycle.Reconciler[*cachev1.Memcached, cachev1.MemcachedStatus]{Kind: kind, Client: r.Client, Live: r.Live, Recorder: r.Recorder}
	return life.Reconcile(ctx, mc, r.desired)
}

// kind is what sets Memcached apart from other kinds that run a Deployment.
var kind = lifecycle.Kind[*cachev1.Memcached, cachev1.MemcachedStatus]{
	Status:    statusKind,
	Finalizer: cachev1.Finalizer,
	PodIndex:  podIndex,
	Identity:  identity,
	Suspended: func(mc *cachev1.Memcached) bool { return ptr.Deref(mc.Spec.Suspend, false) },
	Policy:    func(mc *cachev1.Memcached) workload.DeletionPolicy { return mc.Spec.DeletionPolicy },
	// Clients stop finding the servers before the servers go.
	Children: func(mc *cachev1.Memcached) []client.Object {
		return []client.Object{
			children.Named(&corev1.Service{}, mc),
			children.Named(&appsv1.Deployment{}, mc),
			children.Named(&policyv1.PodDisruptionBudget{}, mc),
		}
	},
	Next: next,
}
