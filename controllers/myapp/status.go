package myapp

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	appv1alpha1ac "github.com/example-inc/memcached-operator/api/app/v1alpha1/applyconfiguration/app/v1alpha1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/conditions"
	"github.com/example-inc/memcached-operator/internal/lifecycle"
	"github.com/example-inc/memcached-operator/internal/rollout"
	"github.com/example-inc/memcached-operator/internal/status"
)

// statusKind is how a MyApp keeps its status.
var statusKind = status.Kind[*appv1alpha1.MyApp, appv1alpha1.MyAppStatus]{
	New:                func() *appv1alpha1.MyApp { return &appv1alpha1.MyApp{} },
	Of:                 func(app *appv1alpha1.MyApp) *appv1alpha1.MyAppStatus { return &app.Status },
	Conditions:         func(s *appv1alpha1.MyAppStatus) []metav1.Condition { return s.Conditions },
	ObservedGeneration: func(s *appv1alpha1.MyAppStatus) int64 { return s.ObservedGeneration },
	Apply: func(app *appv1alpha1.MyApp, s appv1alpha1.MyAppStatus) (runtime.ApplyConfiguration, error) {
		ac := appv1alpha1ac.MyAppStatus()
		err := status.Configure(s, ac)
		return appv1alpha1ac.MyApp(app.Name, app.Namespace).WithUID(app.UID).WithStatus(ac), err
	},
}

// next is the status after old, of what has been seen of app.
func next(old appv1alpha1.MyAppStatus, app *appv1alpha1.MyApp, view rollout.View, seen lifecycle.Observation) appv1alpha1.MyAppStatus {
	now := view.Conditions(appv1alpha1.ConditionReady, rollout.Course{
		Refused:   seen.Outcome.Refused,
		Suspended: ptr.Deref(app.Spec.Suspend, false),
		Waiting:   seen.Waiting,
	})
	result := appv1alpha1.MyAppStatus{
		ObservedGeneration: app.Generation,
		Replicas:           view.Replicas(),
		ReadyReplicas:      view.ReadyReplicas(),
		Selector:           labels.SelectorFromSet(selector(app)).String(),
		Conditions:         conditions.Next(old.Conditions, app.Generation, now...),
	}
	result.Phase = phase(app, result.Conditions)
	return result
}

// phase says the conditions in one word; it has no other source.
func phase(app *appv1alpha1.MyApp, all []metav1.Condition) appv1alpha1.Phase {
	switch {
	case !app.DeletionTimestamp.IsZero():
		return appv1alpha1.PhaseTerminating
	case meta.IsStatusConditionTrue(all, workload.ConditionDegraded):
		return appv1alpha1.PhaseFailed
	case meta.IsStatusConditionTrue(all, appv1alpha1.ConditionReady):
		return appv1alpha1.PhaseRunning
	default:
		return appv1alpha1.PhasePending
	}
}
