// Package pods builds the parts of a workload that do not depend on its kind: the pod template, the
// disruption budget, and the owner reference.
package pods

import (
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
)

// Owner is the reference that makes a child owner's.
func Owner(owner client.Object, gvk schema.GroupVersionKind) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(gvk.GroupVersion().String()).
		WithKind(gvk.Kind).
		WithName(owner.GetName()).
		WithUID(owner.GetUID()).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// Template is a pod template with one container, as user asks for it, nil for nothing, under the restricted Pod
// Security Standard. The operator's labels win over the user's. It does not depend on the number of replicas.
func Template(labels map[string]string, user *workload.PodTemplate, container *corev1ac.ContainerApplyConfiguration) *corev1ac.PodTemplateSpecApplyConfiguration {
	if user == nil {
		user = &workload.PodTemplate{}
	}
	all := maps.Clone(user.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels)

	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(container)
	schedule(spec, user)

	template := corev1ac.PodTemplateSpec().WithLabels(all).WithSpec(spec)
	if len(user.Annotations) > 0 {
		template.WithAnnotations(user.Annotations)
	}
	return template
}

func schedule(spec *corev1ac.PodSpecApplyConfiguration, user *workload.PodTemplate) {
	if len(user.NodeSelector) > 0 {
		spec.WithNodeSelector(user.NodeSelector)
	}
	for i := range user.Tolerations {
		spec.WithTolerations(as[corev1ac.TolerationApplyConfiguration](user.Tolerations[i]))
	}
	if user.Affinity != nil {
		spec.WithAffinity(as[corev1ac.AffinityApplyConfiguration](user.Affinity))
	}
	for i := range user.TopologySpreadConstraints {
		spec.WithTopologySpreadConstraints(as[corev1ac.TopologySpreadConstraintApplyConfiguration](user.TopologySpreadConstraints[i]))
	}
	if user.PriorityClassName != "" {
		spec.WithPriorityClassName(user.PriorityClassName)
	}
	for i := range user.ImagePullSecrets {
		spec.WithImagePullSecrets(as[corev1ac.LocalObjectReferenceApplyConfiguration](user.ImagePullSecrets[i]))
	}
	if user.ServiceAccountName != "" {
		spec.WithServiceAccountName(user.ServiceAccountName)
	}
}

// Container sets what every container has: resources, nil for none, and a security context under the restricted
// Pod Security Standard.
func Container(container *corev1ac.ContainerApplyConfiguration, resources *corev1.ResourceRequirements) *corev1ac.ContainerApplyConfiguration {
	if resources != nil {
		container.WithResources(as[corev1ac.ResourceRequirementsApplyConfiguration](rounded(resources)))
	}
	return container.WithSecurityContext(corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
}

// rounded is what the API server makes of resources: it keeps no fraction of a thousandth, and what is not kept as it was
// applied would be applied for ever.
func rounded(resources *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	resources = resources.DeepCopy()
	for _, list := range []corev1.ResourceList{resources.Limits, resources.Requests} {
		for name, quantity := range list {
			quantity.RoundUp(resource.Milli)
			list[name] = quantity
		}
	}
	return resources
}

// Rolling is a strategy that takes no pod away before its successor is available.
func Rolling() *appsv1ac.DeploymentStrategyApplyConfiguration {
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxUnavailable(intstr.FromInt32(0)).
			WithMaxSurge(intstr.FromString("25%")))
}

// Budget is a disruption budget that lets one pod go at a time.
func Budget(name, namespace string, labels, selector map[string]string, owner *metav1ac.OwnerReferenceApplyConfiguration) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(name, namespace).
		WithLabels(labels).
		WithOwnerReferences(owner).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector)))
}

// as turns an API type into the apply configuration generated from it: the same fields under the same names.
func as[A any](from any) *A {
	to := new(A)
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		panic(fmt.Sprintf("%T does not fit %T: %v", from, to, err)) // No input can do this, only a wrong pair of types.
	}
	return to
}
