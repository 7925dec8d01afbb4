// Package slim keeps the manager's memory small: its cache holds only what carries the operator's label, and of
// that only what is read.
package slim

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/internal/children"
)

// ByObject limits the cache of the kinds of children to those with the operator's label. Objects of
// others are neither sent nor held, however many there are.
func ByObject() map[client.Object]cache.ByObject {
	ours := labels.SelectorFromSet(labels.Set{children.LabelManagedBy: children.ManagedBy})
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}:            {Label: ours},
		&corev1.Service{}:               {Label: ours},
		&policyv1.PodDisruptionBudget{}: {Label: ours},
		&corev1.Pod{}:                   {Label: ours, Transform: Pod},
	}
}

// Object is a cache.TransformFunc that drops the field ownership of all others; the operator's own tells what it has applied.
func Object(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(slices.Clip(slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager != string(children.FieldOwner) || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != ""
		})))
	}
	return object, nil
}

// Pod is a cache.TransformFunc that keeps of a pod its name, labels and owner, and how its containers fare.
func Pod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil // A tombstone.
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:                       pod.Name,
			Namespace:                  pod.Namespace,
			UID:                        pod.UID,
			ResourceVersion:            pod.ResourceVersion,
			Labels:                     pod.Labels,
			OwnerReferences:            pod.OwnerReferences,
			DeletionTimestamp:          pod.DeletionTimestamp,
			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		},
		Status: corev1.PodStatus{
			Conditions:            conditions(pod.Status.Conditions),
			InitContainerStatuses: containers(pod.Status.InitContainerStatuses),
			ContainerStatuses:     containers(pod.Status.ContainerStatuses),
		},
	}, nil
}

func conditions(all []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range all {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime})
		}
	}
	return kept
}

// containers keeps what tells a failing container from a running one.
func containers(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, c := range all {
		if !c.Ready {
			kept = append(kept, corev1.ContainerStatus{
				Name: c.Name, Image: c.Image, RestartCount: c.RestartCount,
				State: c.State, LastTerminationState: c.LastTerminationState,
			})
		}
	}
	return kept
}
