package main

import (
	"context"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

const image = "memcached:1.6.38-alpine"

// memcachedReconciler does what the tutorial teaches, step by step, and nothing that it does not teach.
type memcachedReconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *memcachedReconciler) setupWithManager(mgr ctrl.Manager, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&cachev1.Memcached{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// Reconcile gets the Deployment, creates or resizes it, lists the pods and updates status.nodes.
func (r *memcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	memcached := &cachev1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, memcached); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	deployment := &appsv1.Deployment{}
	err := r.Get(ctx, request.NamespacedName, deployment)
	if apierrors.IsNotFound(err) {
		if deployment, err = r.deploymentFor(memcached); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.Create(ctx, deployment)
	}
	if err != nil {
		return ctrl.Result{}, err
	}

	size := ptr.Deref(memcached.Spec.Size, 1)
	if *deployment.Spec.Replicas != size {
		deployment.Spec.Replicas = &size
		return ctrl.Result{}, r.Update(ctx, deployment)
	}
	return ctrl.Result{}, r.updateNodes(ctx, memcached)
}

func (r *memcachedReconciler) updateNodes(ctx context.Context, memcached *cachev1.Memcached) error {
	pods := &corev1.PodList{}
	err := r.List(ctx, pods, client.InNamespace(memcached.Namespace), client.MatchingLabels(labelsFor(memcached.Name)))
	if err != nil {
		return err
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	if reflect.DeepEqual(names, memcached.Status.Nodes) {
		return nil
	}
	memcached.Status.Nodes = names
	return r.Status().Update(ctx, memcached)
}

func labelsFor(name string) map[string]string {
	return map[string]string{"app": "memcached", "memcached_cr": name}
}

func (r *memcachedReconciler) deploymentFor(memcached *cachev1.Memcached) (*appsv1.Deployment, error) {
	labels := labelsFor(memcached.Name)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: memcached.Name, Namespace: memcached.Namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(ptr.Deref(memcached.Spec.Size, 1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name:    "memcached",
						Image:   image,
						Command: []string{"memcached", "-m", "64"},
						Ports:   []corev1.ContainerPort{{Name: "memcached", ContainerPort: 11211}},
					}},
				},
			},
		},
	}
	return deployment, ctrl.SetControllerReference(memcached, deployment, r.scheme)
}
