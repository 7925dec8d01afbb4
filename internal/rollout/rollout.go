// Package rollout reads what has become of a Deployment and its pods.
package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// View is what has been seen of a Deployment at one moment.
type View struct {
	deployment *appsv1.Deployment
	pods       []corev1.Pod
}

// Look makes a View of deployment, nil where there is none, and of those of pods that are its own. Neither may be
// changed afterwards.
func Look(deployment *appsv1.Deployment, pods []corev1.Pod) View {
	if deployment == nil {
		return View{}
	}
	var own []corev1.Pod
	for i := range pods {
		if ownedBy(&pods[i], deployment) {
			own = append(own, pods[i])
		}
	}
	slices.SortFunc(own, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return View{deployment: deployment, pods: own}
}

// Pods lists the pods that the index field holds under value in namespace.
func Pods(ctx context.Context, reader client.Reader, namespace, field, value string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{field: value}); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return list.Items, nil
}

// ownedBy tells whether a ReplicaSet of the Deployment controls the pod. The ReplicaSet's name is the Deployment's
// and the hash that the pod carries, so that the ReplicaSets themselves need not be read.
func ownedBy(pod *corev1.Pod, deployment *appsv1.Deployment) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && controller.Kind == "ReplicaSet" &&
		controller.Name == deployment.Name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// Nodes are the names of the pods that are ready and not terminating, sorted.
func (v View) Nodes() []string {
	var names []string
	for i := range v.pods {
		if v.pods[i].DeletionTimestamp == nil && ready(&v.pods[i]) {
			names = append(names, v.pods[i].Name)
		}
	}
	return names
}

// Replicas is the number of pods by the Deployment's own count.
func (v View) Replicas() int32 {
	if v.deployment == nil {
		return 0
	}
	return v.deployment.Status.Replicas
}

// ReadyReplicas is the number of ready pods by the Deployment's own count.
func (v View) ReadyReplicas() int32 {
	if v.deployment == nil {
		return 0
	}
	return v.deployment.Status.ReadyReplicas
}

func (v View) desired() int32 { return ptr.Deref(v.deployment.Spec.Replicas, 1) }

// observed tells whether the Deployment's controller has seen the latest spec.
func (v View) observed() bool {
	return v.deployment.Status.ObservedGeneration >= v.deployment.Generation
}

// served tells whether as many up-to-date pods as are wanted are available. Pods that are only still there from
// before a scale-down or a rollout do no harm, but an old pod never stands in for a new one.
func (v View) served() bool {
	status, want := v.deployment.Status, v.desired()
	return v.observed() && status.UpdatedReplicas >= want && status.AvailableReplicas >= want && status.UnavailableReplicas == 0
}

// complete tells whether nothing is left to do.
func (v View) complete() bool { return v.served() && v.deployment.Status.Replicas == v.desired() }

func ready(pod *corev1.Pod) bool {
	condition := podCondition(pod, corev1.PodReady)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func (v View) condition(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range v.deployment.Status.Conditions {
		if v.deployment.Status.Conditions[i].Type == kind {
			return &v.deployment.Status.Conditions[i]
		}
	}
	return nil
}
