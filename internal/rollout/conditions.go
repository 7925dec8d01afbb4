package rollout

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/conditions"
)

// Course is what bears on a rollout besides the Deployment itself.
type Course struct {
	// Refused is why the latest spec could not be applied, nil where it could.
	Refused *Trouble
	// Suspended means that the operator only reports.
	Suspended bool
	// Waiting is what the deletion of the owner waits for, empty while it lives.
	Waiting string
}

// Conditions are the three that every kind reports; serving is the type of the first.
func (v View) Conditions(serving string, course Course) []metav1.Condition {
	trouble := course.Refused
	if trouble == nil {
		trouble = v.Trouble()
	}
	return []metav1.Condition{v.serving(serving, course), v.progressing(course, trouble), degraded(trouble)}
}

// serving is True when all replicas of the latest spec are available. Old pods do not count, nor does what was
// seen of an older spec.
func (v View) serving(kind string, course Course) metav1.Condition {
	switch {
	case course.Refused != nil:
		return conditions.False(kind, workload.ReasonSpecNotApplied, "see the condition "+workload.ConditionDegraded)
	case v.deployment == nil:
		return conditions.False(kind, workload.ReasonDeploymentMissing, "there is no Deployment")
	case !v.observed():
		return conditions.Unknown(kind, workload.ReasonRolloutPending, "the Deployment's controller has not seen the latest spec")
	case v.served():
		return conditions.True(kind, workload.ReasonReplicasReady, "")
	}
	if pod := v.unschedulable(); pod != "" {
		return conditions.False(kind, workload.ReasonUnschedulable, fmt.Sprintf("%s; no node takes pod %s", v.count(), pod))
	}
	return conditions.False(kind, workload.ReasonReplicasPending, v.count())
}

// progressing tells whether pods are being created, replaced or removed.
func (v View) progressing(course Course, trouble *Trouble) metav1.Condition {
	const kind = workload.ConditionProgressing
	switch {
	case course.Waiting != "":
		return conditions.True(kind, workload.ReasonTerminating, "waiting for "+course.Waiting)
	case course.Suspended:
		return conditions.False(kind, workload.ReasonSuspended, "spec.suspend is true")
	case course.Refused == nil && v.deployment != nil && v.complete():
		return conditions.False(kind, workload.ReasonRolloutComplete, "")
	case trouble != nil:
		return conditions.False(kind, workload.ReasonRolloutStopped, "see the condition "+workload.ConditionDegraded)
	case v.deployment == nil:
		return conditions.Unknown(kind, workload.ReasonRolloutPending, "there is no Deployment yet")
	case !v.observed():
		return conditions.Unknown(kind, workload.ReasonRolloutPending, "the Deployment's controller has not seen the latest spec")
	default:
		return conditions.True(kind, workload.ReasonRollingOut, v.count())
	}
}

// degraded tells of trouble, or of its absence.
func degraded(trouble *Trouble) metav1.Condition {
	if trouble == nil {
		return conditions.False(workload.ConditionDegraded, workload.ReasonAsExpected, "")
	}
	return conditions.True(workload.ConditionDegraded, trouble.Reason, trouble.Message)
}

// count tells how far the rollout is.
func (v View) count() string {
	status := v.deployment.Status
	return fmt.Sprintf("%d of %d replicas are up to date, %d available", status.UpdatedReplicas, v.desired(), status.AvailableReplicas)
}

// unschedulable is the name of the first pod that no node takes.
func (v View) unschedulable() string {
	for i := range v.pods {
		condition := podCondition(&v.pods[i], corev1.PodScheduled)
		if condition != nil && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
			return v.pods[i].Name
		}
	}
	return ""
}
