package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

// kwokNodeAnnotation marks a node whose kubelet is simulated.
const kwokNodeAnnotation = "kwok.x-k8s.io/node"

// awaitAPIServer lets kube-apiserver start once etcd is healthy, and waits until it is healthy too, as envtest does.
func (s *site) awaitAPIServer(ctx context.Context, clients kubernetes.Interface, ports kwokPorts) error {
	err := s.await(ctx, string(binaries.Etcd), "etcd to be healthy", func(ctx context.Context) error {
		return ask(ctx, fmt.Sprintf("http://%s:%d/health", loopback, ports.etcd))
	})
	if err != nil {
		return err
	}
	if err := s.openGates(string(binaries.KubeAPIServer)); err != nil {
		return err
	}
	return s.await(ctx, string(binaries.KubeAPIServer), "kube-apiserver to be healthy", func(ctx context.Context) error {
		return clients.Discovery().RESTClient().Get().AbsPath("/healthz").Do(ctx).Error()
	})
}

// populate starts the rest, creates the nodes and waits until the cluster can run a pod: the controllers work, which the default service
// account shows, the scheduler is ready, and the nodes are ready and free of taints.
func (s *site) populate(ctx context.Context, clients kubernetes.Interface, ports kwokPorts) error {
	if err := s.openGates(apiClients...); err != nil {
		return err
	}
	for i := range s.Nodes {
		_, err := clients.CoreV1().Nodes().Create(ctx, node(i), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating a simulated node: %w", err)
		}
	}
	err := s.await(ctx, string(binaries.KubeControllerManager), "the service account default/default", func(ctx context.Context) error {
		_, err := clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = s.await(ctx, string(binaries.KubeScheduler), "kube-scheduler to be ready", func(ctx context.Context) error {
		return ask(ctx, fmt.Sprintf("https://%s:%d/readyz", loopback, ports.scheduler))
	})
	if err != nil {
		return err
	}
	return s.await(ctx, kwokController, "the simulated nodes to be ready", func(ctx context.Context) error {
		nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range nodes.Items {
			if !schedulable(&node) {
				return fmt.Errorf("node %s is not ready, or tainted: %v", node.Name, node.Spec.Taints)
			}
		}
		return nil
	})
}

// node is roomy, so that no test fills it unless it means to: then it asks for more than a node has.
func node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	cidr := fmt.Sprintf("10.%d.0.0/16", 64+i%128)
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("256"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("10k"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{kwokNodeAnnotation: "fake"},
			Labels: map[string]string{
				corev1.LabelHostname:     name,
				corev1.LabelOSStable:     "linux",
				corev1.LabelArchStable:   "amd64",
				corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3),
				"type":                   "kwok",
			},
		},
		Spec:   corev1.NodeSpec{PodCIDR: cidr, PodCIDRs: []string{cidr}},
		Status: corev1.NodeStatus{Allocatable: room, Capacity: room},
	}
}

func schedulable(node *corev1.Node) bool {
	return len(node.Spec.Taints) == 0 && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// ask asks a component how it is; some serve with a certificate of their own making.
func ask(ctx context.Context, url string) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // On the loopback address.
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// await asks until ask succeeds, and fails as soon as a component has died, which nobody would start again.
func (s *site) await(ctx context.Context, component, what string, ask func(context.Context) error) error {
	begin := time.Now()
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, s.StartTimeout, true, func(ctx context.Context) (bool, error) {
		if last = ask(ctx); last == nil {
			return true, nil
		}
		return false, s.run.anyDead()
	})
	var dead *componentError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &dead):
		return err
	default:
		waited := time.Since(begin).Round(time.Second)
		return &componentError{component, fmt.Errorf("waited %s for %s: %w (last answer: %w)", waited, what, err, last)}
	}
}

// anyDead names the first component that registered and has ended.
func (r *runDir) anyDead() error {
	entries, err := os.ReadDir(r.join("pids"))
	if err != nil {
		return err
	}
	alive, err := r.processes()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, err := os.ReadFile(r.join("pids", entry.Name()))
		if err != nil {
			return err
		}
		component := strings.TrimSpace(string(name))
		if component == string(binaries.Kwokctl) || slices.ContainsFunc(alive, func(pid int) bool { return fmt.Sprint(pid) == entry.Name() }) {
			continue
		}
		return &componentError{component, errEnded}
	}
	return nil
}
