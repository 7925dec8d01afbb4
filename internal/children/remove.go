package children

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Prune deletes object, an empty object of its kind with its name, where the cache holds it as owner's.
func (s *Set) Prune(ctx context.Context, owner, object client.Object) error {
	_, err := s.remove(ctx, s.Client, owner, object)
	return err
}

// Remove deletes object and what depends on it where the API server holds it as owner's, and tells whether it is gone.
// What belongs to somebody else counts as gone.
func (s *Set) Remove(ctx context.Context, owner, object client.Object) (gone bool, err error) {
	return s.remove(ctx, s.Live, owner, object)
}

func (s *Set) remove(ctx context.Context, reader client.Reader, owner, object client.Object) (gone bool, err error) {
	if err := reader.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, fmt.Errorf("reading %s: %w", describe(s.Client, object), err)
	}
	if !controlledBy(object, owner) {
		return true, nil
	}
	if object.GetDeletionTimestamp() != nil {
		return false, nil
	}

	// The UID keeps a stale read from deleting a namesake; the foreground keeps the object until its pods are gone.
	uid := object.GetUID()
	err = s.Client.Delete(ctx, object,
		client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationForeground))
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("deleting %s: %w", describe(s.Client, object), err)
	}
	return false, nil
}

// Release gives object up where the API server holds it as owner's: without owner reference and without fields that
// the operator owns, so that nobody deletes or changes it, and whoever comes next may take it over.
func (s *Set) Release(ctx context.Context, owner, object client.Object) error {
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading %s: %w", describe(s.Client, object), err)
	}
	if !controlledBy(object, owner) {
		return nil
	}

	before := object.DeepCopyObject().(client.Object)
	object.SetOwnerReferences(slices.DeleteFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner.GetUID()
	}))
	object.SetManagedFields(withoutOurs(object.GetManagedFields()))
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.Client.Patch(ctx, object, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("releasing %s: %w", describe(s.Client, object), err)
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
	if len(rest) == 0 {
		return []metav1.ManagedFieldsEntry{{}}
	}
	return rest
}

// describe is the kind and name of object, for people.
func describe(c client.Client, object client.Object) string {
	kind := reflect.TypeOf(object).Elem().Name()
	if gvk, err := c.GroupVersionKindFor(object); err == nil {
		kind = gvk.Kind
	}
	return kind + " " + object.GetName()
}

// reset empties object but for its name.
func reset(object client.Object, key client.ObjectKey) {
	value := reflect.ValueOf(object).Elem()
	value.Set(reflect.Zero(value.Type()))
	object.SetName(key.Name)
	object.SetNamespace(key.Namespace)
}
