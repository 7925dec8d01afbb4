package cluster

import (
	"context"
	"fmt"
	"io"
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
	clients, err := kubernetes.NewForConfig(tune(rest.CopyConfig(admin), io.Discard))
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	var missing string
	err = wait.PollUntilContextCancel(ctx, readyEvery, true, func(ctx context.Context) (bool, error) {
		seen := notReady(ctx, clients, count)
		if seen == "" || ctx.Err() == nil { // Asked too late, it would tell of that and not of what is missing.
			missing = seen
		}
		return seen == "", nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %d nodes and what runs on all of them (%s): %w", count, missing, context.Cause(ctx))
	}
	return nil
}

// notReady says what is missing, nothing when all is there.
func notReady(ctx context.Context, clients kubernetes.Interface, count int) string {
	nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	deployments, err := clients.AppsV1().Deployments(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	daemons, err := clients.AppsV1().DaemonSets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}

	var missing []string
	lacks := func(what string, current bool, available, want int) {
		if !current || available < want || want == 0 {
			missing = append(missing, fmt.Sprintf("%d of %d of %s", available, want, what))
		}
	}
	lacks("the nodes", true, readyNodes(nodes.Items), count)
	for _, d := range deployments.Items {
		lacks(d.Name, d.Status.ObservedGeneration >= d.Generation, int(d.Status.AvailableReplicas), int(d.Status.Replicas))
	}
	for _, d := range daemons.Items {
		lacks(d.Name, d.Status.ObservedGeneration >= d.Generation, int(d.Status.NumberAvailable), count)
	}
	return strings.Join(missing, ", ")
}

func readyNodes(nodes []corev1.Node) (ready int) {
	for _, node := range nodes {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return ready
}
