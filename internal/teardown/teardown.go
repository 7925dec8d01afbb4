// Package teardown lets a resource go: it holds it back with a finalizer until its children and their pods
// are gone, or given up, as its deletion policy says.
package teardown

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
)

// Plan says what is taken down with an owner.
type Plan struct {
	// Finalizer is the one to remove at the end.
	Finalizer string
	// Policy is the owner's deletion policy.
	Policy workload.DeletionPolicy
	// Children are empty objects with kind and name, in the order in which they go: each is gone before the next is touched.
	Children []client.Object
	// Pods selects the owner's pods.
	Pods client.MatchingLabels
}

// Hold adds the finalizer to owner. It must come before the first child.
func Hold(ctx context.Context, c client.Client, owner client.Object, finalizer string) error {
	return patchFinalizers(ctx, c, owner, finalizer, controllerutil.AddFinalizer)
}

// Run does the next steps of the plan and releases owner after the last. Until then it returns what it waits for;
// the deletion of that wakes the reconciler. It reads from the API server, so that a stale cache cannot
// release owner early, and it creates nothing, so that a namespace's deletion cannot stop it.
func Run(ctx context.Context, set *children.Set, owner client.Object, plan Plan) (waiting string, err error) {
	if !controllerutil.ContainsFinalizer(owner, plan.Finalizer) {
		return "", nil
	}
	if orphans(owner, plan.Policy) {
		for _, child := range plan.Children {
			if err := set.Release(ctx, owner, child); err != nil {
				return "", err
			}
		}
		return "", release(ctx, set.Client, owner, plan.Finalizer)
	}

	kept := false
	for _, child := range plan.Children {
		fate, err := set.Remove(ctx, owner, child)
		switch {
		case err != nil:
			return "", err
		case fate == children.Going:
			return "the deletion of " + children.Describe(set.Client, child), nil
		case fate == children.Kept:
			kept = true
		}
	}
	if kept {
		// The pods may belong to what lives on. Those of a Deployment that did not are gone with it.
		return "", release(ctx, set.Client, owner, plan.Finalizer)
	}
	pods := &corev1.PodList{}
	if err := set.Live.List(ctx, pods, client.InNamespace(owner.GetNamespace()), plan.Pods, client.Limit(1)); err != nil {
		return "", fmt.Errorf("listing pods: %w", err)
	}
	if len(pods.Items) > 0 {
		return "the end of pod " + pods.Items[0].Name, nil
	}
	return "", release(ctx, set.Client, owner, plan.Finalizer)
}

// orphans tells whether the children live on, by owner's own policy or by a `kubectl delete --cascade=orphan`.
func orphans(owner client.Object, policy workload.DeletionPolicy) bool {
	return policy == workload.DeletionPolicyOrphan || slices.Contains(owner.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

func release(ctx context.Context, c client.Client, owner client.Object, finalizer string) error {
	return client.IgnoreNotFound(patchFinalizers(ctx, c, owner, finalizer, controllerutil.RemoveFinalizer))
}

// patchFinalizers sends nothing where change changes nothing. The optimistic lock keeps the finalizers of others.
func patchFinalizers(ctx context.Context, c client.Client, owner client.Object, finalizer string, change func(client.Object, string) bool) error {
	before := owner.DeepCopyObject().(client.Object)
	if !change(owner, finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, owner, patch); err != nil {
		return fmt.Errorf("changing the finalizers of %s: %w", children.Describe(c, owner), err)
	}
	return nil
}
