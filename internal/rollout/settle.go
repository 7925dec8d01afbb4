package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patience is how long a rollout that has just begun, or moved, is given before its intermediate state is reported.
const patience = 5 * time.Second

// Settle tells how long to wait before saying anything, because what would be said is about to change: the Deployment's
// controller has not seen the spec or has not created the pods, or it has not counted the pods that the cache
// already holds as ready, or the other way round; or all of them speak of pods that start, and most take but a moment. Each
// of these ends with an event. After the wait, 0 is returned: whoever should have moved does not, and that has to be told.
// A rollout that takes longer is told of step by step. Trouble is told at once.
func (v View) Settle(fieldOwner string, now time.Time) time.Duration {
	switch {
	case v.deployment == nil || v.Trouble() != nil:
		return 0
	case !v.agrees():
		return max(0, patience-now.Sub(v.lastMove(fieldOwner)))
	case v.ReadyReplicas() < v.desired():
		return max(0, patience-now.Sub(v.lastApply(fieldOwner)))
	}
	return 0
}

// agrees tells whether Deployment and pods speak of the same moment.
func (v View) agrees() bool {
	status := v.deployment.Status
	return v.observed() && status.Replicas >= v.desired() && int(status.ReadyReplicas) == len(v.Nodes())
}

// lastMove is when the operator last changed the Deployment, or a pod last changed its readiness or began to
// end. It is read from the objects, so that nothing need be remembered.
func (v View) lastMove(fieldOwner string) time.Time {
	last := v.lastApply(fieldOwner)
	if c := v.condition(appsv1.DeploymentProgressing); c != nil {
		last = later(last, c.LastUpdateTime)
	}
	for i := range v.pods {
		if c := podCondition(&v.pods[i], corev1.PodReady); c != nil {
			last = later(last, c.LastTransitionTime)
		}
		if deleted := v.pods[i].DeletionTimestamp; deleted != nil {
			// The timestamp lies in the future by the grace period.
			grace := time.Duration(0)
			if s := v.pods[i].DeletionGracePeriodSeconds; s != nil {
				grace = time.Duration(*s) * time.Second
			}
			last = later(last, metav1.NewTime(deleted.Add(-grace)))
		}
	}
	return last
}

// lastApply is when the operator last changed the Deployment.
func (v View) lastApply(fieldOwner string) time.Time {
	last := v.deployment.CreationTimestamp.Time
	for _, entry := range v.deployment.ManagedFields {
		if entry.Manager == fieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Time != nil {
			last = later(last, *entry.Time)
		}
	}
	return last
}

func later(a time.Time, b metav1.Time) time.Time {
	if b.After(a) {
		return b.Time
	}
	return a
}
