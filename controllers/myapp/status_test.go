package myapp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/conditions"
	"github.com/example-inc/memcached-operator/internal/lifecycle"
	"github.com/example-inc/memcached-operator/internal/rollout"
)

func TestPhase(t *testing.T) {
	t.Parallel()
	ready := conditions.True(appv1alpha1.ConditionReady, workload.ReasonReplicasReady, "")
	notReady := conditions.False(appv1alpha1.ConditionReady, workload.ReasonReplicasPending, "")
	bad := conditions.True(workload.ConditionDegraded, workload.ReasonCrashLoopBackOff, "")
	well := conditions.False(workload.ConditionDegraded, workload.ReasonAsExpected, "")
	for name, tc := range map[string]struct {
		reason string
		app    *appv1alpha1.MyApp
		all    []metav1.Condition
		want   appv1alpha1.Phase
	}{
		"Nothing":     {reason: "nothing is known", app: sample(1), want: appv1alpha1.PhasePending},
		"NotReady":    {reason: "not yet, and nothing is wrong", app: sample(1), all: []metav1.Condition{notReady, well}, want: appv1alpha1.PhasePending},
		"Ready":       {reason: "all is well", app: sample(1), all: []metav1.Condition{ready, well}, want: appv1alpha1.PhaseRunning},
		"Bad":         {reason: "it will not pass by waiting", app: sample(1), all: []metav1.Condition{notReady, bad}, want: appv1alpha1.PhaseFailed},
		"ReadyButBad": {reason: "trouble goes before the readiness", app: sample(1), all: []metav1.Condition{ready, bad}, want: appv1alpha1.PhaseFailed},
		"Ending":      {reason: "the deletion goes before all", app: sample(1, ending), all: []metav1.Condition{ready, bad}, want: appv1alpha1.PhaseTerminating},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := phase(tc.app, tc.all); got != tc.want {
				t.Errorf("%s: phase() = %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// kubectl#962: the status and each condition say of which generation they speak.
func TestNext(t *testing.T) {
	t.Parallel()
	deploy := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Status: appsv1.DeploymentStatus{Replicas: 2, ReadyReplicas: 1}}
	app := sample(2, suspended, func(app *appv1alpha1.MyApp) { app.Generation = 7 })
	refused := &rollout.Trouble{Reason: workload.ReasonForbidden, Message: "quota"}
	got := next(appv1alpha1.MyAppStatus{ObservedGeneration: 6, Selector: "old"}, app, rollout.Look(deploy, []corev1.Pod{*podOf("a")}), lifecycle.Observation{Outcome: children.Outcome{Refused: refused}})

	want := appv1alpha1.MyAppStatus{
		ObservedGeneration: 7, Phase: appv1alpha1.PhaseFailed, Replicas: 2, ReadyReplicas: 1,
		Selector: "app.kubernetes.io/instance=demo,app.kubernetes.io/name=myapp",
		Conditions: []metav1.Condition{
			{Type: "Ready", Status: "False", Reason: "SpecNotApplied", Message: "see the condition Degraded", ObservedGeneration: 7},
			{Type: "Progressing", Status: "False", Reason: "Suspended", Message: "spec.suspend is true", ObservedGeneration: 7},
			{Type: "Degraded", Status: "True", Reason: "Forbidden", Message: "quota", ObservedGeneration: 7},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
		t.Errorf("next() (-want +got):\n%s", diff)
	}
}
