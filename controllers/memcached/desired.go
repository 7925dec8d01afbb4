package memcached

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/imageref"
	"github.com/example-inc/memcached-operator/internal/pods"
	"github.com/example-inc/memcached-operator/internal/proxy"
)

const (
	labelApp      = "app"
	appName       = "memcached"
	labelInstance = "memcached_cr"
	labelVersion  = "app.kubernetes.io/version"

	portName   = "memcached"
	portNumber = 11211

	// userID is the user that memcached's official image makes for it.
	userID = 11211

	mebibyte = 1 << 20
	// overheadFloor is what memcached needs beside its items at the least: hash table, threads, buffers.
	overheadFloor = 16 * mebibyte
	// overheadShare is the part of a memory limit, one in so many, that is left to the overhead of a large cache.
	overheadShare = 5

	// budgetFrom is the size from which on a disruption budget makes sense: below, it would block every drain or none.
	budgetFrom = 2
)

// selector is what the pods of mc are selected by. It can never change: a Deployment's selector is immutable.
func selector(mc *cachev1.Memcached) map[string]string {
	return map[string]string{labelApp: appName, labelInstance: mc.Name}
}

// identity is on every child of mc and on no other's.
func identity(mc *cachev1.Memcached) map[string]string {
	labels := selector(mc)
	labels[children.LabelManagedBy] = children.ManagedBy
	return labels
}

// desired is everything that mc owns, in the order in which it must exist, and what it must not own.
func (r *Reconciler) desired(mc *cachev1.Memcached) (wanted []children.Child, unwanted []client.Object) {
	image := mc.Spec.Image
	if image == "" {
		image = r.Image
	}
	wanted = []children.Child{
		children.New(&corev1.Service{}, service(mc), corev1ac.ExtractService),
		children.New(&appsv1.Deployment{}, deployment(mc, image, r.Proxy), appsv1ac.ExtractDeployment),
	}
	if size(mc) >= budgetFrom {
		return append(wanted, children.New(&policyv1.PodDisruptionBudget{}, budget(mc), policyv1ac.ExtractPodDisruptionBudget)), nil
	}
	return wanted, []client.Object{children.Named(&policyv1.PodDisruptionBudget{}, mc)}
}

func size(mc *cachev1.Memcached) int32 { return ptr.Deref(mc.Spec.Size, 1) }

func owner(mc *cachev1.Memcached) *metav1ac.OwnerReferenceApplyConfiguration {
	return pods.Owner(mc, cachev1.SchemeGroupVersion.WithKind("Memcached"))
}

func service(mc *cachev1.Memcached) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(mc.Name, mc.Namespace).
		WithLabels(identity(mc)).
		WithOwnerReferences(owner(mc)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(selector(mc)).
			WithPorts(corev1ac.ServicePort().
				WithName(portName).
				WithPort(portNumber).
				WithTargetPort(intstr.FromString(portName))))
}

func budget(mc *cachev1.Memcached) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return pods.Budget(mc.Name, mc.Namespace, identity(mc), selector(mc), owner(mc))
}

func deployment(mc *cachev1.Memcached, image string, settings []proxy.Setting) *appsv1ac.DeploymentApplyConfiguration {
	labels := identity(mc)
	if version := imageref.Version(image); version != "" {
		labels[labelVersion] = version
	}
	return appsv1ac.Deployment(mc.Name, mc.Namespace).
		WithLabels(labels).
		WithOwnerReferences(owner(mc)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(size(mc)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(mc))).
			WithStrategy(pods.Rolling()).
			WithTemplate(pods.Template(identity(mc), mc.Spec.PodTemplate, container(mc, image, settings))))
}

func container(mc *cachev1.Memcached, image string, settings []proxy.Setting) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(appName).
		WithImage(image).
		WithCommand("memcached").
		WithArgs(arguments(mc)...).
		WithPorts(corev1ac.ContainerPort().
			WithName(portName).
			WithContainerPort(portNumber).
			WithProtocol(corev1.ProtocolTCP)).
		WithEnv(proxy.Env(settings, nil)...).
		WithReadinessProbe(probe().WithPeriodSeconds(5)).
		WithLivenessProbe(probe().WithPeriodSeconds(10).WithFailureThreshold(6))
	pods.Container(c, mc.Spec.Resources)
	c.SecurityContext.
		WithRunAsUser(userID).
		WithReadOnlyRootFilesystem(true)
	return c
}

func probe() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(portName)))
}

// arguments are memcached's, the user's own last.
func arguments(mc *cachev1.Memcached) []string {
	args := []string{"-p", strconv.Itoa(portNumber)}
	add := func(flag string, value int64) { args = append(args, flag, strconv.FormatInt(value, 10)) }
	if memory := memoryForItems(mc); memory > 0 {
		add("-m", memory/mebibyte)
	}
	if n := mc.Spec.MaxConnections; n != nil {
		add("-c", int64(*n))
	}
	if n := mc.Spec.Threads; n != nil {
		add("-t", int64(*n))
	}
	if q := mc.Spec.MaxItemSize; q != nil {
		add("-I", q.Value())
	}
	return append(args, mc.Spec.ExtraArgs...)
}

// memoryForItems is in bytes, at least one MiB, or 0 where memcached's own default is to be used. Under a memory limit memcached
// must be told: it does not see the limit, and would be killed at it (dragonfly-operator#71).
func memoryForItems(mc *cachev1.Memcached) int64 {
	if mc.Spec.MaxMemory != nil {
		return max(mc.Spec.MaxMemory.Value(), mebibyte)
	}
	limit := memoryLimit(mc)
	if limit == nil {
		return 0
	}
	bytes := limit.Value()
	return max(bytes-max(bytes/overheadShare, overheadFloor), mebibyte)
}

func memoryLimit(mc *cachev1.Memcached) *resource.Quantity {
	if mc.Spec.Resources == nil {
		return nil
	}
	limit, ok := mc.Spec.Resources.Limits[corev1.ResourceMemory]
	if !ok {
		return nil
	}
	return &limit
}
