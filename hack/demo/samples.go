package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/test/operator"
)

// readyLimit is generous: the simulated kubelets are ready in a second on an idle machine.
const readyLimit = 2 * time.Minute

// samples are the custom resources of both kinds, as last read.
type samples struct {
	memcacheds []cachev1.Memcached
	myapps     []appv1alpha1.MyApp
}

func (w *world) applySamples(ctx context.Context) (string, error) {
	objects, err := operator.Render(ctx, w.paths[binaries.Kubectl], "config/samples")
	if err != nil {
		return "", err
	}
	var names []string
	for _, object := range objects {
		object.SetNamespace(cmp.Or(object.GetNamespace(), metav1.NamespaceDefault))
		if err := operator.Apply(ctx, w.client, object); err != nil {
			return "", err
		}
		names = append(names, object.GetKind()+" "+object.GetName())
	}
	return strings.Join(names, ", "), nil
}

func (w *world) readSamples(ctx context.Context) error {
	memcacheds, myapps := &cachev1.MemcachedList{}, &appv1alpha1.MyAppList{}
	if err := errors.Join(w.client.List(ctx, memcacheds), w.client.List(ctx, myapps)); err != nil {
		return err
	}
	w.samples = samples{memcacheds.Items, myapps.Items}
	return nil
}

// samplesReady waits until every sample says that it serves, and holds what it says against the pods that run.
func (w *world) samplesReady(ctx context.Context) (string, error) {
	err := await(w.ctx(ctx), readyLimit, "the samples to be ready", func(ctx context.Context) (string, bool, error) {
		if err := w.readSamples(ctx); err != nil {
			return "", false, err
		}
		if len(w.samples.memcacheds) == 0 || len(w.samples.myapps) == 0 {
			return "", false, errors.New("config/samples lacks a Memcached or a MyApp")
		}
		for i := range w.samples.memcacheds {
			if why, err := w.notServing(ctx, &w.samples.memcacheds[i]); why != "" || err != nil {
				return why, false, err
			}
		}
		for _, app := range w.samples.myapps {
			if app.Status.ObservedGeneration != app.Generation || app.Status.Phase != appv1alpha1.PhaseRunning {
				return fmt.Sprintf("MyApp %s is %s", app.Name, app.Status.Phase), false, nil
			}
		}
		return "", true, nil
	})
	return "\n" + w.samples.table(), err
}

// notServing says what a Memcached lacks, or nothing when it is available and its status.nodes are the pods that are ready.
func (w *world) notServing(ctx context.Context, mc *cachev1.Memcached) (string, error) {
	if mc.Status.ObservedGeneration != mc.Generation || !meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1.ConditionAvailable) {
		return fmt.Sprintf("Memcached %s has %d of %d pods ready", mc.Name, mc.Status.ReadyReplicas, ptr.Deref(mc.Spec.Size, 1)), nil
	}
	pods, err := w.readyPods(ctx, mc)
	if err != nil {
		return "", err
	}
	if len(pods) != int(ptr.Deref(mc.Spec.Size, 1)) || !slices.Equal(pods, mc.Status.Nodes) {
		return fmt.Sprintf("Memcached %s names the nodes %v, while the ready pods are %v", mc.Name, mc.Status.Nodes, pods), nil
	}
	return "", nil
}

func (w *world) podsOf(ctx context.Context, mc *cachev1.Memcached) ([]corev1.Pod, error) {
	selector, err := labels.Parse(mc.Status.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of Memcached %s: %w", mc.Name, err)
	}
	if selector.Empty() {
		return nil, fmt.Errorf("the status of Memcached %s has no selector", mc.Name)
	}
	pods := &corev1.PodList{}
	err = w.client.List(ctx, pods, client.InNamespace(mc.Namespace), client.MatchingLabelsSelector{Selector: selector})
	return pods.Items, err
}

func (w *world) readyPods(ctx context.Context, mc *cachev1.Memcached) ([]string, error) {
	pods, err := w.podsOf(ctx, mc)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, pod := range pods {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if ready && pod.DeletionTimestamp.IsZero() {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// table shows both kinds as kubectl get would, with the nodes beside them.
func (s samples) table() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "KIND\tNAME\tWANTED\tREADY\tSTATE\tNODES")
	for _, mc := range s.memcacheds {
		state := "Pending"
		if meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1.ConditionAvailable) {
			state = cachev1.ConditionAvailable
		}
		_, _ = fmt.Fprintf(t, "Memcached\t%s\t%d\t%d\t%s\t%s\n", mc.Name, ptr.Deref(mc.Spec.Size, 1),
			mc.Status.ReadyReplicas, state, strings.Join(mc.Status.Nodes, " "))
	}
	for _, app := range s.myapps {
		_, _ = fmt.Fprintf(t, "MyApp\t%s\t%d\t%d\t%s\t\n", app.Name, ptr.Deref(app.Spec.Replicas, 1),
			app.Status.ReadyReplicas, app.Status.Phase)
	}
	_ = t.Flush()
	return b.String()
}
