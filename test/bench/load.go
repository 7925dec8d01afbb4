package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

const (
	// workers is how much is done at once: by a client that creates things, and by each manager, whose default it is.
	workers = 8
	// sample is the name of the resource whose children serve as a pattern. No part of an object spells it by chance.
	sample = "pattern-of-children"

	goneTimeout = 5 * time.Minute
)

// each calls do for 0 to n-1, several at once.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

func memcached(namespace, name string) *cachev1.Memcached {
	return &cachev1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1.MemcachedSpec{Size: new(int32(1))},
	}
}

func nameOf(i int) string { return fmt.Sprintf("cache-%04d", i) }

// createMemcacheds creates n resources of size 1, spread over namespaces.
func (st *site) createMemcacheds(ctx context.Context, n int, namespaces ...string) error {
	return each(ctx, n, func(ctx context.Context, i int) error {
		return st.client.Create(ctx, memcached(namespaces[i%len(namespaces)], nameOf(i)))
	})
}

// pattern is the children of one resource, encoded, to be repeated under other names.
type pattern []child

type child struct {
	kind    client.Object
	encoded string
}

// learn creates the sample and takes what s makes of it for a pattern.
func (st *site) learn(ctx context.Context, s *subject, namespace string) (pattern, error) {
	census, err := countMemcacheds(ctx, st, namespace, s.ready)
	if err != nil {
		return nil, err
	}
	defer census.end()
	if err := st.client.Create(ctx, memcached(namespace, sample)); err != nil {
		return nil, fmt.Errorf("creating the sample: %w", err)
	}
	if err := census.await(ctx, 1); err != nil {
		return nil, err
	}
	var p pattern
	for _, kind := range s.children {
		object := kind.DeepCopyObject().(client.Object)
		if err := st.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: sample}, object); err != nil {
			return nil, fmt.Errorf("reading a child of the sample: %w", err)
		}
		encoded, err := encode(object)
		if err != nil {
			return nil, err
		}
		p = append(p, child{kind, encoded})
	}
	return p, nil
}

// encode keeps of an object what whoever creates it says.
func encode(object client.Object) (string, error) {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetGeneration(0)
	object.SetCreationTimestamp(metav1.Time{})
	object.SetManagedFields(nil)
	object.SetOwnerReferences(nil)
	data, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("encoding a child: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", fmt.Errorf("encoding a child: %w", err)
	}
	delete(fields, "status")
	data, err = json.Marshal(fields)
	return string(data), err
}

// of is the child of another owner.
func (c child) of(owner *cachev1.Memcached) (client.Object, error) {
	object := c.kind.DeepCopyObject().(client.Object)
	if err := json.Unmarshal([]byte(strings.ReplaceAll(c.encoded, sample, owner.Name)), object); err != nil {
		return nil, fmt.Errorf("decoding a child: %w", err)
	}
	kind := cachev1.SchemeGroupVersion.WithKind("Memcached")
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)})
	return object, nil
}

// createChildren creates what a subject makes of n resources, as a bare client would. The children are the same to the owner
// reference, without which they cost Kubernetes less, so that their owners are created too.
func (st *site) createChildren(ctx context.Context, p pattern, namespace string, n int) error {
	return each(ctx, n, func(ctx context.Context, i int) error {
		owner := memcached(namespace, nameOf(i))
		if err := st.client.Create(ctx, owner); err != nil {
			return err
		}
		for _, c := range p {
			object, err := c.of(owner)
			if err != nil {
				return err
			}
			if err := st.client.Create(ctx, object); err != nil {
				return err
			}
		}
		return nil
	})
}

// clear deletes all resources, and the children of kinds, from the namespace and waits until they and the pods are gone.
func (st *site) clear(ctx context.Context, namespace string, kinds ...client.Object) error {
	kinds = append([]client.Object{&cachev1.Memcached{}}, kinds...)
	for _, kind := range kinds {
		err := st.client.DeleteAllOf(ctx, kind.DeepCopyObject().(client.Object), client.InNamespace(namespace),
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil {
			return fmt.Errorf("clearing namespace %s: %w", namespace, err)
		}
	}
	lists := []client.ObjectList{&cachev1.MemcachedList{}, &corev1.PodList{}, &corev1.ServiceList{}}
	err := wait.PollUntilContextTimeout(ctx, pollEvery, goneTimeout, true, func(ctx context.Context) (bool, error) {
		for len(lists) > 0 {
			page := &metav1.PartialObjectMetadataList{}
			gvk, err := st.client.GroupVersionKindFor(lists[0])
			if err != nil {
				return false, err
			}
			page.SetGroupVersionKind(gvk)
			if err := st.client.List(ctx, page, client.InNamespace(namespace), client.Limit(1)); err != nil {
				return false, err
			}
			if len(page.Items) > 0 {
				return false, nil
			}
			lists = lists[1:]
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for namespace %s to be empty: %w", namespace, err)
	}
	return nil
}

// pause waits without doing anything.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
