// Package children keeps the objects that a resource owns as it wants them, and touches nobody else's.
//
// It is stateless: nothing is remembered between two calls, so neither a stale cache nor a restart can make
// it write twice. The cache decides whether there may be something to do, the API server whether there is.
package children

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// FieldOwner is the field manager of everything that the operator applies.
	FieldOwner client.FieldOwner = "memcached-operator"

	// LabelManagedBy is the label that every child carries, with ManagedBy as its value. The cache holds nothing without it.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "memcached-operator"
)

// Set reads and writes children.
type Set struct {
	// Client reads from the cache and writes as FieldOwner.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
}

// Owner is the resource whose children they are.
type Owner struct {
	// Object is the resource itself.
	Object client.Object
	// Labels are on each of its children and on no other's.
	Labels map[string]string
}

// Child is one object that an owner wants, of whatever kind.
type Child struct {
	object  client.Object // Empty but for kind and name; filled by reads.
	want    runtime.ApplyConfiguration
	extract func(live client.Object) (any, error)
	pin     func(types.UID)
}

type configuration[A any] interface {
	runtime.ApplyConfiguration
	GetName() *string
	GetNamespace() *string
	WithUID(uid types.UID) A
}

// New describes a child: an empty object of its kind, what is wanted of it, and the generated function that
// extracts from a live object the fields of one field manager.
func New[T client.Object, A configuration[A]](object T, want A, extract func(T, string) (A, error)) Child {
	object.SetName(*want.GetName())
	object.SetNamespace(*want.GetNamespace())
	return Child{
		object:  object,
		want:    want,
		extract: func(live client.Object) (any, error) { return extract(live.(T), string(FieldOwner)) },
		pin:     func(uid types.UID) { want.WithUID(uid) },
	}
}

// Apply makes the child what owner wants it to be and returns it as it then is. It writes only when a field
// that the operator owns differs, and never to an object of somebody else: that is a ConflictError. While an
// earlier object of the name is on its way out the error is ErrTerminating.
func (s *Set) Apply(ctx context.Context, owner Owner, child Child) (client.Object, error) {
	for _, reader := range []client.Reader{s.Client, s.Live} {
		same, err := s.compare(ctx, reader, owner, child)
		if err != nil || same {
			return child.object, err
		}
	}

	if uid := child.object.GetUID(); uid != "" {
		if err := s.mayAdopt(ctx, owner.Object, child.object); err != nil {
			return nil, err
		}
		child.pin(uid)
	}
	if err := s.force(ctx, child); err != nil {
		return nil, fmt.Errorf("applying %s: %w", Describe(s.Client, child.object), err)
	}
	if err := decode(child.want, child.object); err != nil {
		return nil, err
	}
	// A configuration has no place for the managed fields, which tell when this apply was.
	child.object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: string(FieldOwner), Operation: metav1.ManagedFieldsOperationApply, Time: new(metav1.Now()),
	}})
	return child.object, nil
}

// ApplyAll applies each of wanted and prunes each of unwanted, empty objects with kind and name. One child's failure
// does not stop the others: their errors are joined. It returns the children that are as they should be.
func (s *Set) ApplyAll(ctx context.Context, owner Owner, wanted []Child, unwanted ...client.Object) ([]client.Object, error) {
	var applied []client.Object
	var errs []error
	for _, child := range wanted {
		object, err := s.Apply(ctx, owner, child)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		applied = append(applied, object)
	}
	for _, object := range unwanted {
		errs = append(errs, s.Prune(ctx, owner.Object, object))
	}
	return applied, errors.Join(errs...)
}

// Find reads object, an empty object of its kind with its name, from the cache, and tells whether it is owner's.
func (s *Set) Find(ctx context.Context, owner, object client.Object) (bool, error) {
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading %s: %w", Describe(s.Client, object), err)
	}
	return controlledBy(object, owner), nil
}

// compare tells whether the child is there and is as it should be. It leaves in child.object what it has read.
func (s *Set) compare(ctx context.Context, reader client.Reader, owner Owner, child Child) (bool, error) {
	key := client.ObjectKeyFromObject(child.object)
	if err := reader.Get(ctx, key, child.object); err != nil {
		reset(child.object, key)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading %s: %w", Describe(s.Client, child.object), err)
	}
	if err := s.guard(owner, child.object); err != nil {
		if reader == s.Live {
			return false, err
		}
		return false, nil // The cache may be behind: let the API server decide.
	}
	have, err := child.extract(child.object)
	if err != nil {
		return false, fmt.Errorf("extracting what the operator owns of %s: %w", Describe(s.Client, child.object), err)
	}
	return equality.Semantic.DeepEqual(have, any(child.want)), nil
}

// guard tells whether owner may write to object.
func (s *Set) guard(owner Owner, object client.Object) error {
	controller := metav1.GetControllerOf(object)
	switch {
	case controller != nil && controller.UID != owner.Object.GetUID() && s.namesake(owner.Object, controller):
		return fmt.Errorf("%s of the deleted %s %s: %w", Describe(s.Client, object), controller.Kind, controller.Name, ErrTerminating)
	case controller != nil && controller.UID != owner.Object.GetUID():
		return &ConflictError{Object: Describe(s.Client, object), Owner: controller.Kind + " " + controller.Name}
	case controller == nil && !owner.left(object):
		return &ConflictError{Object: Describe(s.Client, object)}
	case object.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s: %w", Describe(s.Client, object), ErrTerminating)
	}
	return nil
}

// mayAdopt asks the API server, before an object without a controller is adopted, whether owner is still there to have it. The cache may
// not know yet that owner is being deleted and has just given the object up; it would then end with owner.
func (s *Set) mayAdopt(ctx context.Context, owner, object client.Object) error {
	if metav1.GetControllerOf(object) != nil {
		return nil
	}
	live := owner.DeepCopyObject().(client.Object)
	reset(live, client.ObjectKeyFromObject(owner))
	err := s.Live.Get(ctx, client.ObjectKeyFromObject(owner), live)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading %s: %w", Describe(s.Client, owner), err)
	case err != nil || live.GetUID() != owner.GetUID() || live.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s for %s: %w", Describe(s.Client, object), Describe(s.Client, owner), errOwnerGone)
	}
	return nil
}

// namesake tells whether controller is an earlier resource of owner's kind and name.
func (s *Set) namesake(owner client.Object, controller *metav1.OwnerReference) bool {
	gvk, err := s.Client.GroupVersionKindFor(owner)
	return err == nil && controller.Name == owner.GetName() &&
		gvk.Kind == controller.Kind && gvk.GroupVersion().String() == controller.APIVersion
}

// left tells whether an object without a controller was left running by an earlier resource of owner's kind and name.
func (o Owner) left(object client.Object) bool {
	labels := object.GetLabels()
	for key, value := range o.Labels {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// controlledBy tells whether object belongs to owner, by UID.
func controlledBy(object, owner client.Object) bool {
	controller := metav1.GetControllerOf(object)
	return controller != nil && controller.UID == owner.GetUID()
}

// decode reads what the API server answered to an apply, which the client leaves in the configuration.
func decode(answer runtime.ApplyConfiguration, object client.Object) error {
	data, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encoding the answer to an apply: %w", err)
	}
	reset(object, client.ObjectKeyFromObject(object))
	if err := json.Unmarshal(data, object); err != nil {
		return fmt.Errorf("decoding the answer to an apply: %w", err)
	}
	return nil
}
