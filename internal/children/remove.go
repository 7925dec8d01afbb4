package children

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Fate is what becomes of an object that its owner has no more use for.
type Fate int

const (
	// Going means that the object is being deleted, and is still there.
	Going Fate = iota
	// Gone means that there is no such object.
	Gone
	// Kept means that the object lives on: it belongs to somebody else, or to nobody.
	Kept
)

// Prune deletes object, an empty object of its kind with its name, where the cache holds it as owner's.
func (s *Set) Prune(ctx context.Context, owner, object client.Object) error {
	_, err := s.remove(ctx, s.Client, owner, object)
	return err
}

// Remove deletes object and what depends on it where the API server holds it as owner's. What has lost its owner meanwhile, to the garbage
// collector that orphans it, say, is given up as Release does.
func (s *Set) Remove(ctx context.Context, owner, object client.Object) (Fate, error) {
	fate, err := s.remove(ctx, s.Live, owner, object)
	if err == nil && fate == Kept && metav1.GetControllerOf(object) == nil {
		err = s.giveUp(ctx, owner, object)
	}
	return fate, err
}

func (s *Set) remove(ctx context.Context, reader client.Reader, owner, object client.Object) (Fate, error) {
	if err := reader.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		if apierrors.IsNotFound(err) {
			return Gone, nil
		}
		return Going, fmt.Errorf("reading %s: %w", Describe(s.Client, object), err)
	}
	if !controlledBy(object, owner) {
		return Kept, nil
	}
	if object.GetDeletionTimestamp() != nil {
		return Going, nil
	}

	// The UID keeps a stale read from deleting a namesake; the foreground keeps the object until its pods are gone.
	uid := object.GetUID()
	err := s.Client.Delete(ctx, object,
		client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationForeground))
	switch {
	case apierrors.IsNotFound(err):
		return Gone, nil
	case err != nil:
		return Going, fmt.Errorf("deleting %s: %w", Describe(s.Client, object), err)
	}
	return Going, nil
}

// Release gives object up where the API server holds it as owner's or nobody's: without owner reference and without fields
// that the operator owns, so that nobody deletes or changes it, and whoever comes next may take it over.
func (s *Set) Release(ctx context.Context, owner, object client.Object) error {
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading %s: %w", Describe(s.Client, object), err)
	}
	if controller := metav1.GetControllerOf(object); controller != nil && controller.UID != owner.GetUID() {
		return nil
	}
	return s.giveUp(ctx, owner, object)
}

// giveUp sends nothing where object holds nothing of the operator's.
func (s *Set) giveUp(ctx context.Context, owner, object client.Object) error {
	before := object.DeepCopyObject().(client.Object)
	object.SetOwnerReferences(slices.DeleteFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner.GetUID()
	}))
	object.SetManagedFields(withoutOurs(object.GetManagedFields()))
	if equality.Semantic.DeepEqual(before, object) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.Client.Patch(ctx, object, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("releasing %s: %w", Describe(s.Client, object), err)
	}
	return nil
}

// withoutOurs drops the operator's entries. An empty list would be read as "unchanged", so that the last entry
// is replaced by an empty one, which resets the list.
// See https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields.
func withoutOurs(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	rest := slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == string(FieldOwner)
	})
	if len(rest) == 0 && len(entries) > 0 {
		return []metav1.ManagedFieldsEntry{{}}
	}
	return rest
}

// Describe is the kind and name of object, for people.
func Describe(c client.Client, object client.Object) string {
	kind := reflect.TypeOf(object).Elem().Name()
	if gvk, err := c.GroupVersionKindFor(object); err == nil {
		kind = gvk.Kind
	}
	return kind + " " + object.GetName()
}

// Named gives an empty object the name that all of owner's children have.
func Named[T client.Object](object T, owner client.Object) T {
	object.SetName(owner.GetName())
	object.SetNamespace(owner.GetNamespace())
	return object
}

// reset empties object but for its name.
func reset(object client.Object, key client.ObjectKey) {
	value := reflect.ValueOf(object).Elem()
	value.Set(reflect.Zero(value.Type()))
	object.SetName(key.Name)
	object.SetNamespace(key.Namespace)
}
