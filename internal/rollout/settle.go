package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patience is how long a rollout that has just moved is given before its intermediate state is reported.
const patience = 5 * time.Second

// Settle tells how long to wait before saying anything, because what would be said is about to change: the Deployment's
// controller has not seen the spec or has not created the pods, or it has not counted the pods that the cache
// already holds as ready, or the other way round. Each of these ends with an event, well within the wait. After it, 0 is
// returned: whoever should have moved does not, and that has to be told. Trouble is told at once.
func (v View) Settle(fieldOwner string, now time.Time) time.Duration {
	if v.deployment == nil || v.agrees() || v.Trouble() != nil {
		return 0
	}
	return max(0, patience-now.Sub(v.lastMove(fieldOwner)))
}

// agrees tells whether Deployment and pods speak of the same moment.
func (v View) agrees() bool {
	status := v.deployment.Status
	return v.observed() && status.Replicas >= v.desired() && int(status.ReadyReplicas) == len(v.Nodes())
}

// lastMove is when the operator last changed the Deployment, or a pod last changed its readiness or began to
// end. It is read from the objects, so that nothing need be remembered.
func (v View) lastMove(fieldOwner string) time.Time {
	last := v.deployment.CreationTimestamp.Time
	move := func(t metav1.Time) {
		if t.After(last) {
			last = t.Time
		}
	}
	for _, entry := range v.deployment.ManagedFields {
		if entry.Manager == fieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Time != nil {
			move(*entry.Time)
		}
	}
	if c := v.condition(appsv1.DeploymentProgressing); c != nil {
		move(c.LastUpdateTime)
	}
	for i := range v.pods {
		if c := podCondition(&v.pods[i], corev1.PodReady); c != nil {
			move(c.LastTransitionTime)
		}
		if deleted := v.pods[i].DeletionTimestamp; deleted != nil {
			// The timestamp lies in the future by the grace period.
			grace := time.Duration(0)
			if s := v.pods[i].DeletionGracePeriodSeconds; s != nil {
				grace = time.Duration(*s) * time.Second
			}
			move(metav1.NewTime(deleted.Add(-grace)))
		}
	}
	return last
}
