package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// readyEvery is the pace at which a cluster is asked whether it is ready.
const readyEvery = 250 * time.Millisecond

// awaitNodes waits until as many nodes as there should be are ready, and what runs for everybody on them: the network, DNS
// and kube-proxy. kind itself waits for neither the workers nor DNS.
func awaitNodes(ctx context.Context, admin *rest.Config, count int) error {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	var missing string
	err = wait.PollUntilContextCancel(ctx, readyEvery, true, func(ctx context.Context) (bool, error) {
		missing = notReady(ctx, clients, count)
		return missing == "", nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %d nodes and what runs on all of them (%s): %w", count, missing, context.Cause(ctx))
	}
	return nil
}

// notReady says what is missing, nothing when all is there.
func notReady(ctx context.Context, clients kubernetes.Interface, count int) string {
	var missing []string
	nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	ready := 0
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready < count {
		missing = append(missing, fmt.Sprintf("%d nodes are ready", ready))
	}

	system := clients.AppsV1()
	deployments, err := system.Deployments(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas < d.Status.Replicas || d.Status.Replicas == 0 {
			missing = append(missing, fmt.Sprintf("%d of %d pods of %s are available", d.Status.AvailableReplicas, d.Status.Replicas, d.Name))
		}
	}
	daemons, err := system.DaemonSets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, d := range daemons.Items {
		if d.Status.ObservedGeneration < d.Generation || int(d.Status.NumberAvailable) < count {
			missing = append(missing, fmt.Sprintf("%d of %d pods of %s are available", d.Status.NumberAvailable, count, d.Name))
		}
	}
	return strings.Join(missing, ", ")
}
