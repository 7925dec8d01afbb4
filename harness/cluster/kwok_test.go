package cluster

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// controller-runtime#880, #1459, #626, kuttl#217: no garbage collector, and namespaces that never finish.
func TestControllerRuntime880TheSimulatedClusterFinishesThings(t *testing.T) {
	c := shared(t, Kwok)
	clients := clientsFor(t, c.Config())
	for name, tc := range map[string]struct {
		reason string
		remove func(t *testing.T, ns string)
		gone   func(t *testing.T, ns string) error
	}{
		"Background": {
			reason: "the garbage collector deletes what the Deployment owns",
			remove: func(t *testing.T, ns string) { deleteDeployment(t, clients, ns, metav1.DeletePropagationBackground) },
			gone:   func(t *testing.T, ns string) error { return noneLeft(t, clients, ns) },
		},
		"Foreground": {
			reason: "the Deployment goes after what it owns",
			remove: func(t *testing.T, ns string) { deleteDeployment(t, clients, ns, metav1.DeletePropagationForeground) },
			gone:   func(t *testing.T, ns string) error { return noneLeft(t, clients, ns) },
		},
		"Namespace": {
			reason: "the namespace is emptied and goes",
			remove: func(t *testing.T, ns string) {
				if err := clients.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			gone: func(t *testing.T, ns string) error {
				_, err := clients.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
				return gone(err)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := Namespace(t, c)
			deploy(t, clients, ns, 3)
			begin := time.Now()
			tc.remove(t, ns)
			var last error
			eventually(t, tc.reason, func() bool { last = tc.gone(t, ns); return last == nil })
			t.Logf("gone after %.1f s", time.Since(begin).Seconds())
		})
	}
}

// A simulated pod behaves like a real one as far as an operator can tell.
func TestSimulatedPods(t *testing.T) {
	c := shared(t, Kwok)
	clients := clientsFor(t, c.Config())
	ns := Namespace(t, c)
	deploy(t, clients, ns, 2)
	pods, err := clients.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || pod.Spec.NodeName == "" || len(pod.Status.ContainerStatuses) != 1 {
			t.Errorf("pod %s: phase %s, address %q, node %q, statuses %v", pod.Name,
				pod.Status.Phase, pod.Status.PodIP, pod.Spec.NodeName, pod.Status.ContainerStatuses)
		}
	}

	victim := pods.Items[0]
	patch := fmt.Appendf(nil, `{"metadata":{"finalizers":["cluster.example.com/held"]}}`)
	if _, err := clients.CoreV1().Pods(ns).Patch(t.Context(), victim.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := clients.CoreV1().Pods(ns).Delete(t.Context(), victim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a replacement to be ready", func() bool { return ready(t, clients, ns, 2) })
	held, err := clients.CoreV1().Pods(ns).Get(t.Context(), victim.Name, metav1.GetOptions{})
	if err != nil || held.DeletionTimestamp == nil || !slices.Contains(held.Finalizers, "cluster.example.com/held") {
		t.Errorf("the deleted pod with a finalizer: %v, %v, want it to be held", held.ObjectMeta, err)
	}
	patch = fmt.Appendf(nil, `{"metadata":{"finalizers":null}}`)
	if _, err := clients.CoreV1().Pods(ns).Patch(t.Context(), victim.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod to go once its finalizer is removed", func() bool {
		_, err := clients.CoreV1().Pods(ns).Get(t.Context(), victim.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestSimulatedClusterGivesServiceAccountsAndRBAC(t *testing.T) {
	c := shared(t, Kwok)
	clients := clientsFor(t, c.Config())
	ns := Namespace(t, c)
	if _, err := clients.CoreV1().ServiceAccounts(ns).Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("the default service account of a new namespace: %v", err)
	}
	expectRBAC(t, c)
	if !c.Has(Workloads) || !c.Has(GarbageCollection) || !c.Has(NamespaceDeletion) || c.Has(Containers) {
		t.Error("the simulated level is wrong about what it can do")
	}
}

func deploy(t *testing.T, clients kubernetes.Interface, ns string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": "simulated"}
	_, err := clients.AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "simulated"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot:   new(true),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{Name: "c", Image: "c", SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false),
						Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					}}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	eventually(t, "the Deployment's pods to be ready", func() bool { return ready(t, clients, ns, replicas) })
	t.Logf("%d pods ready after %.1f s", replicas, time.Since(begin).Seconds())
}

func ready(t *testing.T, clients kubernetes.Interface, ns string, replicas int32) bool {
	t.Helper()
	d, err := clients.AppsV1().Deployments(ns).Get(t.Context(), "simulated", metav1.GetOptions{})
	return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas == replicas
}

func deleteDeployment(t *testing.T, clients kubernetes.Interface, ns string, policy metav1.DeletionPropagation) {
	t.Helper()
	err := clients.AppsV1().Deployments(ns).Delete(t.Context(), "simulated", metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil {
		t.Fatal(err)
	}
}

// noneLeft is nil once the Deployment and all that it owned are gone.
func noneLeft(t *testing.T, clients kubernetes.Interface, ns string) error {
	t.Helper()
	_, err := clients.AppsV1().Deployments(ns).Get(t.Context(), "simulated", metav1.GetOptions{})
	sets, setsErr := clients.AppsV1().ReplicaSets(ns).List(t.Context(), metav1.ListOptions{})
	pods, podsErr := clients.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err := errors.Join(gone(err), setsErr, podsErr); err != nil {
		return err
	}
	if left := len(sets.Items) + len(pods.Items); left > 0 {
		return fmt.Errorf("%d ReplicaSets and pods are left", left)
	}
	return nil
}

func gone(err error) error {
	if err == nil {
		return errors.New("it is still there")
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
