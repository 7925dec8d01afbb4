package myapp

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/imageref"
	"github.com/example-inc/memcached-operator/internal/pods"
	"github.com/example-inc/memcached-operator/internal/proxy"
)

const (
	labelName     = "app.kubernetes.io/name"
	appName       = "myapp"
	labelInstance = "app.kubernetes.io/instance"
	labelVersion  = "app.kubernetes.io/version"

	containerName = "myapp"
	portName      = "http"

	// Where the schema's defaults have not been filled in.
	defaultReplicas = 1
	defaultPort     = 8080

	// budgetFrom is the number of replicas from which on a disruption budget makes sense: below, it would block every drain or none.
	budgetFrom = 2
)

// selector is what the pods of app are selected by. It can never change: a Deployment's selector is immutable.
func selector(app *appv1alpha1.MyApp) map[string]string {
	return map[string]string{labelName: appName, labelInstance: app.Name}
}

// identity is on every child of app and on no other's.
func identity(app *appv1alpha1.MyApp) map[string]string {
	labels := selector(app)
	labels[children.LabelManagedBy] = children.ManagedBy
	return labels
}

// desired is everything that app owns, in the order in which it must exist, and what it must not own.
func (r *Reconciler) desired(app *appv1alpha1.MyApp) (wanted []children.Child, unwanted []client.Object) {
	wanted = []children.Child{
		children.New(&corev1.Service{}, service(app), corev1ac.ExtractService),
		children.New(&appsv1.Deployment{}, deployment(app, r.Proxy), appsv1ac.ExtractDeployment),
	}
	if replicas(app) >= budgetFrom {
		return append(wanted, children.New(&policyv1.PodDisruptionBudget{}, budget(app), policyv1ac.ExtractPodDisruptionBudget)), nil
	}
	return wanted, []client.Object{children.Named(&policyv1.PodDisruptionBudget{}, app)}
}

func replicas(app *appv1alpha1.MyApp) int32 { return ptr.Deref(app.Spec.Replicas, defaultReplicas) }

func port(app *appv1alpha1.MyApp) int32 { return ptr.Deref(app.Spec.Port, defaultPort) }

func owner(app *appv1alpha1.MyApp) *metav1ac.OwnerReferenceApplyConfiguration {
	return pods.Owner(app, appv1alpha1.SchemeGroupVersion.WithKind("MyApp"))
}

func service(app *appv1alpha1.MyApp) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(app.Name, app.Namespace).
		WithLabels(identity(app)).
		WithOwnerReferences(owner(app)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(selector(app)).
			WithPorts(corev1ac.ServicePort().
				WithName(portName).
				WithPort(port(app)).
				WithTargetPort(intstr.FromString(portName))))
}

func budget(app *appv1alpha1.MyApp) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return pods.Budget(app.Name, app.Namespace, identity(app), selector(app), owner(app))
}

func deployment(app *appv1alpha1.MyApp, settings []proxy.Setting) *appsv1ac.DeploymentApplyConfiguration {
	labels := identity(app)
	if version := imageref.Version(app.Spec.Image); version != "" {
		labels[labelVersion] = version
	}
	return appsv1ac.Deployment(app.Name, app.Namespace).
		WithLabels(labels).
		WithOwnerReferences(owner(app)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas(app)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(app))).
			WithStrategy(pods.Rolling()).
			WithTemplate(pods.Template(identity(app), app.Spec.PodTemplate, container(app, settings))))
}

func container(app *appv1alpha1.MyApp, settings []proxy.Setting) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(containerName).
		WithImage(app.Spec.Image).
		WithPorts(corev1ac.ContainerPort().
			WithName(portName).
			WithContainerPort(port(app)).
			WithProtocol(corev1.ProtocolTCP)).
		WithEnv(proxy.Env(settings, app.Spec.Env)...).
		WithReadinessProbe(corev1ac.Probe().
			WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(portName))).
			WithPeriodSeconds(5))
	return pods.Container(c, app.Spec.Resources)
}
