package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start is the moment at which the Deployments of these tests were created.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// deployed is a Deployment of three replicas that is all it should be, changed by change.
func deployed(change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", Generation: 4, CreationTimestamp: metav1.NewTime(start)},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(3))},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 4, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3,
		},
	}
	for _, f := range change {
		f(d)
	}
	return d
}

// counts sets a Deployment's status to these counts.
func counts(replicas, updated, ready, available, unavailable int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas = replicas, updated, ready
		d.Status.AvailableReplicas, d.Status.UnavailableReplicas = available, unavailable
	}
}

func wanting(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func unobserved(d *appsv1.Deployment) { d.Status.ObservedGeneration = d.Generation - 1 }

// saying adds a condition to a Deployment.
func saying(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, message string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: kind, Status: status, Message: message})
	}
}

// podOf is a pod of a ReplicaSet of the Deployment demo, not ready, changed by change.
func podOf(name string, change ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "abc"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "demo-abc", UID: "rs", Controller: new(true)}},
	}}
	for _, f := range change {
		f(&pod)
	}
	return pod
}

func isReady(pod *corev1.Pod) { readyIs(corev1.ConditionTrue, start)(pod) }

func readyIs(status corev1.ConditionStatus, since time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(since),
		})
	}
}

// ending marks a pod as deleted at the given time, with a grace period in seconds or none.
func ending(at time.Time, grace *int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.DeletionGracePeriodSeconds = grace
		if grace != nil {
			at = at.Add(time.Duration(*grace) * time.Second)
		}
		pod.DeletionTimestamp = new(metav1.NewTime(at))
	}
}

// homeless is a pod that no node takes.
func homeless(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	})
}

// having gives a pod a container in the given state.
func having(state corev1.ContainerState, restarts int32, last *corev1.ContainerStateTerminated) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "main", Image: "app:v1", State: state, RestartCount: restarts,
			LastTerminationState: corev1.ContainerState{Terminated: last},
		})
	}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}
