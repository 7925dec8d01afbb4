package deploy

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// argocd-operator#750, cluster-api#6571: with the labels of every scaffold a Service picks another operator's pods.
func TestManagerSelectorIsUnique(t *testing.T) {
	t.Parallel()
	deployment, service := only[*appsv1.Deployment](t), only[*corev1.Service](t)
	pod := labels.Set(deployment.Spec.Template.Labels)

	for what, selector := range map[string]labels.Set{
		"Deployment": deployment.Spec.Selector.MatchLabels,
		"Service":    service.Spec.Selector,
	} {
		if !selector.AsSelector().Matches(pod) {
			t.Errorf("the %s's selector %v does not match its own pods %v", what, selector, pod)
		}
		if selector["app.kubernetes.io/name"] != "memcached-operator" {
			t.Errorf("the %s's selector %v does not name this operator", what, selector)
		}
		for name, foreign := range map[string]labels.Set{
			"a scaffolded operator":     {"control-plane": "controller-manager"},
			"another operator's":        {"app.kubernetes.io/name": "another-operator", "app.kubernetes.io/component": "manager", "control-plane": "controller-manager"},
			"a memcached of this one's": {"app.kubernetes.io/managed-by": "memcached-operator", "app": "memcached"},
		} {
			if selector.AsSelector().Matches(foreign) {
				t.Errorf("the %s's selector %v matches pods of %s", what, selector, name)
			}
		}
	}
}

// The operator's cache selects by this label; the operator is no child of its own.
func TestNothingLooksLikeAChild(t *testing.T) {
	t.Parallel()
	objects, err := rendered()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		named, err := meta.Accessor(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := named.GetLabels()["app.kubernetes.io/managed-by"]; ok {
			t.Errorf("%T %s has the label of a child", o.Object, named.GetName())
		}
	}
}

func TestManagerMeetsTheRestrictedStandard(t *testing.T) {
	t.Parallel()
	namespace, deployment := only[*corev1.Namespace](t), only[*appsv1.Deployment](t)
	if got := namespace.Labels[api.EnforceLevelLabel]; got != string(api.LevelRestricted) {
		t.Errorf("namespace %s enforces %q, want restricted", namespace.Name, got)
	}

	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	template := deployment.Spec.Template
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
	if !result.Allowed {
		t.Errorf("the manager would not be admitted: %s", result.ForbiddenDetail())
	}
}

func TestManagerContainer(t *testing.T) {
	t.Parallel()
	deployment := only[*appsv1.Deployment](t)
	if got := *deployment.Spec.Replicas; got != 2 {
		t.Errorf("the manager has %d replicas, want 2: one leads, one stands by", got)
	}
	c := deployment.Spec.Template.Spec.Containers[0]
	if ro := c.SecurityContext.ReadOnlyRootFilesystem; ro == nil || !*ro {
		t.Error("the root file system is writable")
	}
	if strings.HasPrefix(c.Image, "controller:") {
		t.Errorf("the image %s is still the placeholder", c.Image)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if c.Resources.Requests.Name(name, "").IsZero() || c.Resources.Limits.Name(name, "").IsZero() {
			t.Errorf("%s has no request or no limit", name)
		}
	}
	for path, probe := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || !hasPort(c, probe.HTTPGet.Port) {
			t.Errorf("no probe of %s on a port of the container: %v", path, probe)
		}
	}
	for _, port := range only[*corev1.Service](t).Spec.Ports {
		if !hasPort(c, port.TargetPort) {
			t.Errorf("the Service's target port %s is no port of the container", port.TargetPort.String())
		}
	}
}

func hasPort(c corev1.Container, want intstr.IntOrString) bool {
	for _, port := range c.Ports {
		if port.Name == want.StrVal || port.ContainerPort == want.IntVal {
			return true
		}
	}
	return false
}

// The soft limit must follow the container's limit; written down as a number it would outlive a change of it.
func TestMemoryLimitIsNotHardCoded(t *testing.T) {
	t.Parallel()
	for _, v := range only[*appsv1.Deployment](t).Spec.Template.Spec.Containers[0].Env {
		if v.Name == "GOMEMLIMIT" {
			if v.ValueFrom == nil || v.ValueFrom.ResourceFieldRef == nil || v.ValueFrom.ResourceFieldRef.Resource != "limits.memory" {
				t.Errorf("GOMEMLIMIT is %+v, want limits.memory", v)
			}
			return
		}
	}
	t.Error("GOMEMLIMIT is not set")
}
