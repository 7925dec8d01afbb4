package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/harness/cluster"
	program "github.com/example-inc/memcached-operator/test/operator"
)

const (
	managerName   = "memcached-operator-controller-manager"
	containerName = "manager"
	metricsPort   = 8443
	// versionAnnotation stands for a new version where there is no second image.
	versionAnnotation = "example.com/e2e-version"
)

// managerLabels select the operator's pods.
var managerLabels = client.MatchingLabels{"app.kubernetes.io/name": "memcached-operator", "app.kubernetes.io/component": "manager"}

// podsOperator is the operator in pods, deployed and removed as its users do it.
type podsOperator struct {
	*site

	deployed bool
}

func (p *podsOperator) Deploy(ctx context.Context) error {
	if p.images.operator == "" {
		return errors.New("deploying the operator: E2E_OPERATOR_IMAGE names no image: make e2e builds and loads one")
	}
	p.deployed = true
	return p.deploy(ctx, p.images.operator)
}

func (p *podsOperator) deploy(ctx context.Context, image string) error {
	if _, err := p.command(ctx, []string{"IMG=" + image}, "hack/cluster.sh", "deploy"); err != nil {
		return err
	}
	return p.awaitLeader(ctx, "")
}

func (p *podsOperator) Down(ctx context.Context) error { return p.scale(ctx, 0) }

func (p *podsOperator) Up(ctx context.Context) error {
	if err := p.scale(ctx, replicas); err != nil {
		return err
	}
	return p.awaitLeader(ctx, "")
}

// scale scales the operator's Deployment, and returns when its pods are there and ready, or have gone.
func (p *podsOperator) scale(ctx context.Context, n int32) error {
	if _, err := p.kubectl(ctx, "scale", "deployment", managerName, "--namespace", systemNamespace, fmt.Sprintf("--replicas=%d", n)); err != nil {
		return err
	}
	return await(ctx, fmt.Sprintf("%d replicas of the operator", n), func(ctx context.Context) (string, bool, error) {
		deploy, pods := &appsv1.Deployment{}, &corev1.PodList{}
		err := errors.Join(
			p.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: managerName}, deploy),
			p.client.List(ctx, pods, client.InNamespace(systemNamespace), managerLabels))
		return fmt.Sprintf("%d pods, %d ready", len(pods.Items), deploy.Status.ReadyReplicas),
			deploy.Status.ObservedGeneration == deploy.Generation && deploy.Status.ReadyReplicas == n && len(pods.Items) == int(n), err
	})
}

// KillLeader has the kubelet end the leader's pod for SIGTERM, and kills its process on the node for any other signal.
func (p *podsOperator) KillLeader(ctx context.Context, sig syscall.Signal) error {
	holder, err := program.Leader(ctx, p.client, systemNamespace)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(holder, "_")
	pod := &corev1.Pod{}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, pod); err != nil {
		return fmt.Errorf("finding the pod of the leader %q: %w", holder, err)
	}
	if sig == syscall.SIGTERM {
		return p.client.Delete(ctx, pod)
	}
	for _, c := range pod.Status.ContainerStatuses {
		_, id, _ := strings.Cut(c.ContainerID, "://")
		_, err := p.onNode(ctx, pod.Spec.NodeName, fmt.Sprintf(
			`kill -%d "$(crictl inspect --output go-template --template '{{.info.pid}}' %s)"`, sig, id))
		return err
	}
	return fmt.Errorf("killing the leader: pod %s has no container", name)
}

// onNode runs a script on a node, which is a container of the local engine.
func (s *site) onNode(ctx context.Context, node, script string) (string, error) {
	return s.command(ctx, nil, "docker", "exec", node, "sh", "-euc", script)
}

// Upgrade deploys the image under another tag where the nodes are at hand, and elsewhere what differs in an annotation alone.
func (p *podsOperator) Upgrade(ctx context.Context) error {
	if !p.can(nodeAccess) {
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:"next"}}}}}`, versionAnnotation)
		if _, err := p.kubectl(ctx, "patch", "deployment", managerName, "--namespace", systemNamespace, "--patch", patch); err != nil {
			return err
		}
		_, err := p.kubectl(ctx, "rollout", "status", "deployment", managerName, "--namespace", systemNamespace, "--timeout", limit.String())
		return err
	}
	nodes := &corev1.NodeList{}
	if err := p.client.List(ctx, nodes); err != nil {
		return err
	}
	for _, node := range nodes.Items {
		// Its name in containerd begins with what the image's own leaves out.
		if _, err := p.onNode(ctx, node.Name, fmt.Sprintf(
			`ref=$(ctr -n k8s.io images list -q | grep -x -e '%s' -e '.*/%[1]s' | head -n 1); ctr -n k8s.io images tag --force "$ref" "${ref%%:*}:next"`,
			p.images.operator)); err != nil {
			return err
		}
	}
	name, _, _ := strings.Cut(p.images.operator, ":")
	return p.deploy(ctx, name+":next")
}

// Metrics forwards a port to each replica in turn.
func (p *podsOperator) Metrics(ctx context.Context, ask func(address string) error) error {
	pods := &corev1.PodList{}
	if err := p.client.List(ctx, pods, client.InNamespace(systemNamespace), managerLabels); err != nil {
		return err
	}
	for i := range pods.Items {
		if !ready(&pods.Items[i]) {
			continue
		}
		if err := p.forward(&pods.Items[i], ask); err != nil {
			return err
		}
	}
	return nil
}

func (p *podsOperator) forward(pod *corev1.Pod, ask func(address string) error) error {
	transport, upgrader, err := spdy.RoundTripperFor(p.Config())
	if err != nil {
		return fmt.Errorf("forwarding a port: %w", err)
	}
	url := p.clients.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	forwarder, err := portforward.New(dialer, []string{fmt.Sprintf(":%d", metricsPort)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return fmt.Errorf("forwarding a port: %w", err)
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return fmt.Errorf("forwarding a port to pod %s: %w", pod.Name, err)
	}
	defer close(stop)
	ports, err := forwarder.GetPorts()
	if err != nil {
		return fmt.Errorf("forwarding a port to pod %s: %w", pod.Name, err)
	}
	return ask(fmt.Sprintf("localhost:%d", ports[0].Local))
}

// Log has the logs of the pods that are there.
func (p *podsOperator) Log(ctx context.Context) (map[string]string, error) {
	logs := map[string]string{}
	err := p.logsOf(ctx, systemNamespace, managerLabels, func(name, log string) error {
		logs[name] = log
		return nil
	})
	return logs, err
}

func (p *podsOperator) Undeploy(ctx context.Context) error {
	_, err := p.command(ctx, nil, "hack/cluster.sh", "undeploy")
	p.deployed = p.deployed && err != nil
	return err
}

// Remove leaves a cluster that will be deleted, or kept to be looked at, as it is.
func (p *podsOperator) Remove(ctx context.Context) error {
	if !p.deployed || p.Level() != cluster.Existing {
		return nil
	}
	return p.Undeploy(ctx)
}
