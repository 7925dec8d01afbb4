package rollout

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/conditions"
)

// Serving is the condition, of whatever type, that is True when all replicas of the latest spec are available.
// Old pods do not count, nor does what was seen of an older spec.
func (v View) Serving(kind string) metav1.Condition {
	switch {
	case v.deployment == nil:
		return conditions.False(kind, workload.ReasonDeploymentMissing, "there is no Deployment")
	case !v.observed():
		return conditions.Unknown(kind, workload.ReasonRolloutPending, "the Deployment's controller has not seen the latest spec")
	case v.complete():
		return conditions.True(kind, workload.ReasonReplicasReady, "")
	}
	if pod := v.unschedulable(); pod != "" {
		return conditions.False(kind, workload.ReasonUnschedulable, fmt.Sprintf("%s; no node takes pod %s", v.count(), pod))
	}
	return conditions.False(kind, workload.ReasonReplicasPending, v.count())
}

// Progressing is the condition Progressing; trouble is what Degraded says, if anything.
func (v View) Progressing(trouble *Trouble) metav1.Condition {
	const kind = workload.ConditionProgressing
	switch {
	case v.deployment == nil && trouble == nil:
		return conditions.Unknown(kind, workload.ReasonRolloutPending, "there is no Deployment yet")
	case v.deployment != nil && v.complete():
		return conditions.False(kind, workload.ReasonRolloutComplete, "")
	case trouble != nil:
		return conditions.False(kind, workload.ReasonRolloutStopped, "see the condition "+workload.ConditionDegraded)
	case !v.observed():
		return conditions.Unknown(kind, workload.ReasonRolloutPending, "the Deployment's controller has not seen the latest spec")
	default:
		return conditions.True(kind, workload.ReasonRollingOut, v.count())
	}
}

// Degraded is the condition Degraded, of trouble or its absence.
func Degraded(trouble *Trouble) metav1.Condition {
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
