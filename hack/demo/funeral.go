package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

// funeral watches a Memcached and its children go.
type funeral struct {
	expected map[types.UID]string // What has not gone yet, by kind and name.
	watches  []watch.Interface
	gone     chan departure
}

// departure is one deletion. Revisions are the cluster's own order, whatever watch tells of them first.
type departure struct {
	kind     string
	uid      types.UID
	revision uint64
}

// watchEnd expects the Memcached, what it owns and its pods to go.
func (w *world) watchEnd(ctx context.Context, mc *cachev1.Memcached, pods []corev1.Pod) (*funeral, error) {
	f := &funeral{expected: map[types.UID]string{mc.UID: "Memcached " + mc.Name}, gone: make(chan departure)}
	for _, pod := range pods {
		f.expected[pod.UID] = "Pod " + pod.Name
	}
	for kind, list := range map[string]client.ObjectList{
		"Memcached":           &cachev1.MemcachedList{},
		"Deployment":          &appsv1.DeploymentList{},
		"Service":             &corev1.ServiceList{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{},
		"Pod":                 &corev1.PodList{},
	} {
		if err := w.client.List(ctx, list, client.InNamespace(mc.Namespace)); err != nil {
			f.stop()
			return nil, fmt.Errorf("listing every %s: %w", kind, err)
		}
		if err := f.expectOwned(kind, list, mc.UID); err != nil {
			f.stop()
			return nil, err
		}
		watched, err := w.client.Watch(ctx, list, client.InNamespace(mc.Namespace))
		if err != nil {
			f.stop()
			return nil, fmt.Errorf("watching every %s: %w", kind, err)
		}
		f.watches = append(f.watches, watched)
		go f.listen(ctx, kind, watched)
	}
	return f, nil
}

func (f *funeral) expectOwned(kind string, list client.ObjectList, owner types.UID) error {
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		for _, ref := range object.GetOwnerReferences() {
			if ref.UID == owner {
				f.expected[object.GetUID()] = kind + " " + object.GetName()
			}
		}
		return nil
	})
}

func (f *funeral) listen(ctx context.Context, kind string, watched watch.Interface) {
	for event := range watched.ResultChan() {
		object, err := meta.Accessor(event.Object)
		if event.Type != watch.Deleted || err != nil {
			continue
		}
		revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
		if err != nil {
			continue
		}
		select {
		case f.gone <- departure{kind, object.GetUID(), revision}:
		case <-ctx.Done():
			return
		}
	}
}

// await returns the kinds in the order in which they went.
func (f *funeral) await(ctx context.Context) ([]string, error) {
	limited, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var went []departure
	for len(f.expected) > 0 {
		select {
		case d := <-f.gone:
			if f.expected[d.uid] != "" {
				delete(f.expected, d.uid)
				went = append(went, d)
			}
		case <-limited.Done():
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			left := []string(nil)
			for _, name := range f.expected {
				left = append(left, name)
			}
			return nil, fmt.Errorf("waited %s for these to go: %v", readyLimit, left)
		}
	}
	slices.SortFunc(went, func(a, b departure) int { return cmp.Compare(a.revision, b.revision) })
	var kinds []string
	for _, d := range went {
		kinds = append(kinds, d.kind)
	}
	return kinds, nil
}

func (f *funeral) stop() {
	for _, watched := range f.watches {
		watched.Stop()
	}
}

func namesIn(list client.ObjectList) ([]string, error) {
	var names []string
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			names = append(names, object.GetName())
		}
		return err
	})
	return names, err
}
