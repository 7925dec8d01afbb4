package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

// scale adds two pods to the first Memcached, in the way of kubectl scale and of autoscalers.
func (w *world) scale(ctx context.Context) (string, error) {
	mc := &w.samples.memcacheds[0]
	before := ptr.Deref(mc.Spec.Size, 1)
	scale := &autoscalingv1.Scale{}
	if err := w.client.SubResource("scale").Get(ctx, mc, scale); err != nil {
		return "", fmt.Errorf("reading the scale of Memcached %s: %w", mc.Name, err)
	}
	scale.Spec.Replicas = before + 2
	if err := w.client.SubResource("scale").Update(ctx, mc, client.WithSubResourceBody(scale)); err != nil {
		return "", fmt.Errorf("scaling Memcached %s: %w", mc.Name, err)
	}
	err := await(ctx, readyLimit, fmt.Sprintf("Memcached %s to have %d nodes", mc.Name, before+2),
		func(ctx context.Context) (string, bool, error) {
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil {
				return "", false, err
			}
			why, err := w.notServing(ctx, mc)
			return why, why == "" && ptr.Deref(mc.Spec.Size, 1) == before+2, err
		})
	return fmt.Sprintf("Memcached %s from %d to %d\n%s", mc.Name, before, before+2, strings.Join(mc.Status.Nodes, " ")), err
}

// deleteOne deletes the first Memcached and verifies that it was the last to go: a namesake created the moment that the
// name is free must not meet its pods.
func (w *world) deleteOne(ctx context.Context) (string, error) {
	mc := &w.samples.memcacheds[0]
	pods, err := w.podsOf(ctx, mc)
	if err != nil {
		return "", err
	}
	funeral, err := w.watchEnd(ctx, mc, pods)
	if err != nil {
		return "", err
	}
	defer funeral.stop()
	if err := w.client.Delete(ctx, mc); err != nil {
		return "", fmt.Errorf("deleting Memcached %s: %w", mc.Name, err)
	}
	order, err := funeral.await(ctx)
	if err != nil {
		return "", err
	}
	if last := order[len(order)-1]; last != "Memcached" {
		return "", fmt.Errorf("the children of Memcached %s outlived it: %s", mc.Name, strings.Join(order, ", "))
	}
	return strings.Join(inRuns(order), ", "), nil
}

// inRuns counts neighbours that are equal: Pod, Pod, Memcached is 2 Pods, Memcached.
func inRuns(order []string) []string {
	var runs []string
	for i := 0; i < len(order); {
		n := 1
		for i+n < len(order) && order[i+n] == order[i] {
			n++
		}
		if n == 1 {
			runs = append(runs, order[i])
		} else {
			runs = append(runs, fmt.Sprintf("%d %ss", n, order[i]))
		}
		i += n
	}
	return runs
}

// deleteOthers deletes all samples and verifies that nothing which the operator made is left.
func (w *world) deleteOthers(ctx context.Context) (string, error) {
	for _, namespace := range w.sampleNamespaces() {
		err := errors.Join(
			w.client.DeleteAllOf(ctx, &cachev1.Memcached{}, client.InNamespace(namespace)),
			w.client.DeleteAllOf(ctx, &appv1alpha1.MyApp{}, client.InNamespace(namespace)),
		)
		if err != nil {
			return "", fmt.Errorf("deleting the samples in %s: %w", namespace, err)
		}
	}
	err := await(ctx, readyLimit, "the samples and their children to go", func(ctx context.Context) (string, bool, error) {
		left, err := w.left(ctx)
		return strings.Join(left, ", ") + " still there", len(left) == 0, err
	})
	return "no resource, Deployment, Service, PodDisruptionBudget or pod is left", err
}

func (w *world) sampleNamespaces() []string {
	seen, namespaces := map[string]bool{}, []string(nil)
	add := func(namespace string) {
		if !seen[namespace] {
			seen[namespace] = true
			namespaces = append(namespaces, namespace)
		}
	}
	for _, mc := range w.samples.memcacheds {
		add(mc.Namespace)
	}
	for _, app := range w.samples.myapps {
		add(app.Namespace)
	}
	return namespaces
}

// left names the custom resources, and the objects with the label that the operator gives its children.
func (w *world) left(ctx context.Context) ([]string, error) {
	ours := client.MatchingLabels{"app.kubernetes.io/managed-by": "memcached-operator"}
	var names []string
	for _, look := range []struct {
		kind string
		list client.ObjectList
		opts []client.ListOption
	}{
		{"Memcached", &cachev1.MemcachedList{}, nil},
		{"MyApp", &appv1alpha1.MyAppList{}, nil},
		{"Deployment", &appsv1.DeploymentList{}, []client.ListOption{ours}},
		{"Service", &corev1.ServiceList{}, []client.ListOption{ours}},
		{"PodDisruptionBudget", &policyv1.PodDisruptionBudgetList{}, []client.ListOption{ours}},
		{"Pod", &corev1.PodList{}, []client.ListOption{ours}},
	} {
		if err := w.client.List(ctx, look.list, look.opts...); err != nil {
			return nil, fmt.Errorf("listing every %s: %w", look.kind, err)
		}
		found, err := namesIn(look.list)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			names = append(names, look.kind+" "+name)
		}
	}
	return names, nil
}
