package suite

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Deployment is an empty Deployment with the name of owner's.
func Deployment(owner client.Object) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: nameOf(owner)}
}

// Service is an empty Service with the name of owner's.
func Service(owner client.Object) *corev1.Service { return &corev1.Service{ObjectMeta: nameOf(owner)} }

// Budget is an empty PodDisruptionBudget with the name of owner's.
func Budget(owner client.Object) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: nameOf(owner)}
}

// Children are empty objects with the names of all that owner may own.
func Children(owner client.Object) []client.Object {
	return []client.Object{Service(owner), Deployment(owner), Budget(owner)}
}

func nameOf(owner client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: owner.GetName(), Namespace: owner.GetNamespace()}
}
