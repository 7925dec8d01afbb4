package myapp

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/lifecycle"
)

// +kubebuilder:rbac:groups=app.example.com,resources=myapps,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=app.example.com,resources=myapps/status,verbs=patch
// +kubebuilder:rbac:groups=app.example.com,resources=myapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile applies what app wants, looks at what became of it, and says so in the status.
func (r *Reconciler) Reconcile(ctx context.Context, app *appv1alpha1.MyApp) (ctrl.Result, error) {
	life := lifecycle.Reconciler[*appv1alpha1.MyApp, appv1alpha1.MyAppStatus]{Kind: kind, Client: r.Client, Live: r.Live, Recorder: r.Recorder}
	return life.Reconcile(ctx, app, r.desired)
}

// kind is what sets MyApp apart from other kinds that run a Deployment.
var kind = lifecycle.Kind[*appv1alpha1.MyApp, appv1alpha1.MyAppStatus]{
	Status:    statusKind,
	Finalizer: appv1alpha1.Finalizer,
	PodIndex:  podIndex,
	Identity:  identity,
	Suspended: func(app *appv1alpha1.MyApp) bool { return ptr.Deref(app.Spec.Suspend, false) },
	Policy:    func(app *appv1alpha1.MyApp) workload.DeletionPolicy { return app.Spec.DeletionPolicy },
	// Nobody is sent to the pods any more before they go.
	Children: func(app *appv1alpha1.MyApp) []client.Object {
		return []client.Object{
			children.Named(&corev1.Service{}, app),
			children.Named(&appsv1.Deployment{}, app),
			children.Named(&policyv1.PodDisruptionBudget{}, app),
		}
	},
	Next: next,
}
