package rollout

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example-inc/memcached-operator/api/workload"
)

// Trouble is something that will not pass by waiting alone.
type Trouble struct {
	// Reason is one of package workload's for Degraded.
	Reason string
	// Message says what is wrong, and where.
	Message string
}

// Trouble finds what is wrong with the rollout, the most telling first: a pod that cannot run, pods that cannot be
// created, a rollout that does not move. It is nil where nothing is.
func (v View) Trouble() *Trouble {
	if v.deployment == nil {
		return nil
	}
	for i := range v.pods {
		if trouble := podTrouble(&v.pods[i]); trouble != nil {
			return trouble
		}
	}
	if !v.observed() {
		return nil // What the conditions say may be of an older spec.
	}
	if c := v.condition(appsv1.DeploymentReplicaFailure); c != nil && c.Status == corev1.ConditionTrue {
		return &Trouble{workload.ReasonReplicaFailure, c.Message}
	}
	if c := v.condition(appsv1.DeploymentProgressing); c != nil && c.Status == corev1.ConditionFalse {
		message := c.Message
		if pod := v.unschedulable(); pod != "" {
			message += "; no node takes pod " + pod
		}
		return &Trouble{workload.ReasonProgressDeadlineExceeded, message}
	}
	return nil
}

func podTrouble(pod *corev1.Pod) *Trouble {
	if pod.DeletionTimestamp != nil || ready(pod) {
		return nil
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if reason := containerTrouble(&container); reason != "" {
			return &Trouble{reason, message(pod, &container)}
		}
	}
	return nil
}

// containerTrouble names one reason for all the states that a failing container moves through, so that the condition
// stands still while kubelet tries again: ErrImagePull and ImagePullBackOff take turns, as do running and CrashLoopBackOff.
func containerTrouble(container *corev1.ContainerStatus) string {
	if waiting := container.State.Waiting; waiting != nil {
		switch waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
			return workload.ReasonImagePullBackOff
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreStartHookError", "PostStartHookError":
			return workload.ReasonContainerCannotStart
		case "CrashLoopBackOff":
			return workload.ReasonCrashLoopBackOff
		}
	}
	if container.Ready {
		return ""
	}
	// Kubelet restarts a container once without delay; only from the second restart on does it back off.
	if container.LastTerminationState.Terminated != nil && container.RestartCount > 1 {
		return workload.ReasonCrashLoopBackOff
	}
	return ""
}

// message names the pod and the container, and nothing that changes from try to try.
func message(pod *corev1.Pod, container *corev1.ContainerStatus) string {
	text := fmt.Sprintf("pod %s: container %s with image %s", pod.Name, container.Name, container.Image)
	if last := container.LastTerminationState.Terminated; last != nil {
		text += fmt.Sprintf(" ended with exit code %d", last.ExitCode)
		if last.Reason != "" && last.Reason != "Error" {
			text += " (" + last.Reason + ")"
		}
	}
	return text
}
