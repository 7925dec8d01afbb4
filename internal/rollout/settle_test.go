package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managed adds an entry of the managed fields.
func managed(manager string, operation metav1.ManagedFieldsOperationType, at *metav1.Time) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Time: at})
	}
}

func moved(at time.Time) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, LastUpdateTime: metav1.NewTime(at.Add(time.Hour))},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(at)},
		}
	}
}

// Settle waits five seconds from the last move while Deployment and pods do not agree, and from the last apply while pods start.
func TestSettle(t *testing.T) {
	t.Parallel()
	after := start.Add
	stamp := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(after(d))) }
	none := counts(0, 0, 0, 0, 3) // Nothing has been created: there is always something to wait for.
	apply, update := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	for name, tc := range map[string]struct {
		reason     string
		deployment *appsv1.Deployment
		pods       []corev1.Pod
		now        time.Duration // Since the Deployment's creation.
		want       time.Duration
	}{
		"Agreed":       {reason: "all is said", deployment: deployed(), pods: []corev1.Pod{podOf("a", isReady), podOf("b", isReady), podOf("c", isReady)}, want: 0},
		"Starting":     {reason: "the pods are there and start, most in a moment", deployment: deployed(counts(3, 3, 1, 1, 2)), pods: []corev1.Pod{podOf("a", isReady), podOf("b")}, want: 5 * time.Second},
		"StartingLong": {reason: "a slow rollout is told of", deployment: deployed(counts(3, 3, 1, 1, 2)), pods: []corev1.Pod{podOf("a", isReady), podOf("b")}, now: 5 * time.Second, want: 0},
		"StartingOn": {
			reason: "however often it moves", deployment: deployed(counts(3, 3, 1, 1, 2), moved(after(time.Minute))), now: time.Minute,
			pods: []corev1.Pod{podOf("a", readyIs(corev1.ConditionTrue, after(time.Minute))), podOf("b")}, want: 0,
		},
		"StartingAnew": {
			reason: "our own apply begins it anew", deployment: deployed(counts(3, 3, 1, 1, 2), managed("me", apply, stamp(time.Minute))), now: 61 * time.Second,
			pods: []corev1.Pod{podOf("a", isReady), podOf("b")}, want: 4 * time.Second,
		},
		"AgreedOnNone": {reason: "none is wanted", deployment: deployed(wanting(0), counts(0, 0, 0, 0, 0)), want: 0},
		"NotObserved":  {reason: "the counts are of an older spec", deployment: deployed(counts(3, 3, 0, 0, 3), unobserved), want: 5 * time.Second},
		"NotCreated":   {reason: "the pods are about to be created", deployment: deployed(none), want: 5 * time.Second},
		"PodsAhead": {
			reason: "a pod is ready, and the Deployment has not counted it", deployment: deployed(counts(3, 3, 0, 0, 3)),
			pods: []corev1.Pod{podOf("a", isReady)}, want: 5 * time.Second,
		},
		"PodsBehind": {reason: "the Deployment counts pods that the cache does not hold", deployment: deployed(), want: 5 * time.Second},
		"Trouble": {
			reason: "trouble is told at once", deployment: deployed(none),
			pods: []corev1.Pod{podOf("a", having(waiting("ErrImagePull"), 0, nil))}, want: 0,
		},
		"JustBefore": {reason: "a nanosecond is left", deployment: deployed(none), now: 5*time.Second - 1, want: 1},
		"AtTheEnd":   {reason: "patience ends", deployment: deployed(none), now: 5 * time.Second, want: 0},
		"LongAfter":  {reason: "whoever should have moved does not", deployment: deployed(none), now: time.Hour, want: 0},
		"ClockAhead": {reason: "the API server's clock may be ahead of ours", deployment: deployed(none), now: -2 * time.Second, want: 7 * time.Second},

		"Applied":           {reason: "our own apply begins it anew", deployment: deployed(none, managed("me", apply, stamp(time.Minute))), now: 61 * time.Second, want: 4 * time.Second},
		"AppliedUndated":    {reason: "an entry need not have a time", deployment: deployed(none, managed("me", apply, nil)), now: time.Minute, want: 0},
		"AppliedByOthers":   {reason: "what others apply is not ours", deployment: deployed(none, managed("you", apply, stamp(time.Minute))), now: 61 * time.Second, want: 0},
		"UpdatedNotApplied": {reason: "an update under our name is no apply", deployment: deployed(none, managed("me", update, stamp(time.Minute))), now: 61 * time.Second, want: 0},
		"Moved":             {reason: "the rollout has moved, whatever else the conditions say", deployment: deployed(none, moved(after(time.Minute))), now: 62 * time.Second, want: 3 * time.Second},
		"MovedEarlier":      {reason: "only the last move counts", deployment: deployed(none, moved(after(-time.Minute))), now: time.Second, want: 4 * time.Second},
		"PodBecameReady": {
			reason: "a pod's readiness has moved", deployment: deployed(none), now: 62 * time.Second,
			pods: []corev1.Pod{podOf("a", readyIs(corev1.ConditionTrue, after(time.Minute)))}, want: 3 * time.Second,
		},
		"PodEnds": {
			reason: "the deletion began the grace period before the timestamp", deployment: deployed(none), now: 62 * time.Second,
			pods: []corev1.Pod{podOf("a", ending(after(time.Minute), new(int64(30))))}, want: 3 * time.Second,
		},
		"PodEndsAtOnce": {
			reason: "without grace period", deployment: deployed(none), now: 62 * time.Second,
			pods: []corev1.Pod{podOf("a", ending(after(time.Minute), nil))}, want: 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Look(tc.deployment, tc.pods).Settle("me", after(tc.now)); got != tc.want {
				t.Errorf("%s: Settle() = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
