package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

// drainedReplicas are so many that some node has two of them.
const drainedReplicas = 4

// draining is that a node is drained as people do it.
func draining() []story {
	var all []story
	for _, kind := range kinds {
		all = append(all, story{
			name: "serves while a node is drained", kind: kind, needs: []cluster.Capability{ownNodes},
			steps: func(s *stage, f *features.FeatureBuilder) {
				d := &drain{stage: s}
				f.Assess("created", s.create(drainedReplicas)).
					Assess("it serves", s.serves()).
					Assess("a node with several of its pods is known", do(d.choose)).
					Assess("the pods are watched", do(d.watch)).
					Assess("the node is drained", d.drain()).
					Assess("never more than one pod was missing", do(d.budgetHeld)).
					Assess("it serves on the other nodes", s.serves()).
					Assess("the node has none of its pods", do(d.moved))
			},
		})
	}
	return all
}

// drain is one node that is drained, and the pods meanwhile.
type drain struct {
	*stage

	node    string
	watched watch.Interface
	ready   map[types.UID]bool
}

func (d *drain) choose(ctx context.Context) error {
	pods, err := d.pods(ctx)
	if err != nil {
		return err
	}
	count := map[string]int{}
	d.ready = map[types.UID]bool{}
	for _, pod := range pods {
		d.ready[pod.UID] = ready(&pod)
		if count[pod.Spec.NodeName]++; count[pod.Spec.NodeName] > count[d.node] {
			d.node = pod.Spec.NodeName
		}
	}
	if count[d.node] < 2 {
		return fmt.Errorf("no node has two of the pods, so that no budget is needed: %v", count)
	}
	return nil
}

func (d *drain) watch(ctx context.Context) (err error) {
	d.watched, err = d.client.Watch(ctx, &corev1.PodList{}, client.InNamespace(d.namespace),
		client.MatchingLabels(d.kind.Selector(d.owner.GetName())))
	return err
}

// drain has kubectl drain the node, which evicts. The node is taken back whatever comes of it.
func (d *drain) drain() features.Func {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		t.Cleanup(func() {
			if _, err := d.kubectl(context.WithoutCancel(ctx), "uncordon", d.node); err != nil {
				t.Error(err)
			}
		})
		if _, err := d.kubectl(ctx, "drain", d.node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout", limit.String()); err != nil {
			t.Fatal(err)
		}
		return ctx
	}
}

// budgetHeld goes through what has become of the pods, up to this moment: a pod that is made for the purpose marks it.
func (d *drain) budgetHeld(ctx context.Context) error {
	defer d.watched.Stop()
	mark := types.UID("")
	pods, err := d.pods(ctx)
	if err != nil {
		return err
	}
	newest := slices.MaxFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/drained":"yes"}}}`))
	if err := d.client.Patch(ctx, &newest, patch); err != nil {
		return fmt.Errorf("marking a pod: %w", err)
	}
	mark = newest.UID
	for {
		select {
		case event, open := <-d.watched.ResultChan():
			pod, ok := event.Object.(*corev1.Pod)
			if !open || !ok {
				return fmt.Errorf("the watch of the pods has ended: %v", event.Object)
			}
			d.ready[pod.UID] = event.Type != watch.Deleted && ready(pod)
			n := 0
			for _, ready := range d.ready {
				if ready {
					n++
				}
			}
			if n < drainedReplicas-1 {
				return fmt.Errorf("only %d of %d pods were ready at a time", n, drainedReplicas)
			}
			if pod.UID == mark && pod.Annotations["example.com/drained"] != "" {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (d *drain) moved(ctx context.Context) error {
	pods, err := d.pods(ctx)
	for _, pod := range pods {
		if pod.Spec.NodeName == d.node {
			err = fmt.Errorf("pod %s is on the node that was drained", pod.Name)
		}
	}
	return err
}
