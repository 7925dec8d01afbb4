package children

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// force applies what child wants. Where the object is there and the API server finds the outcome invalid, the fault may
// be in what others have added to it: a port of the same name, a second kind of probe. Then the operator takes over their
// fields, so that a second apply removes what it does not want itself.
func (s *Set) force(ctx context.Context, child Child) error {
	err := s.Client.Apply(ctx, child.want, client.ForceOwnership)
	if !apierrors.IsInvalid(err) || child.object.GetUID() == "" {
		return err
	}
	seized, seizeErr := s.seize(ctx, child.object)
	if seizeErr != nil {
		return seizeErr
	}
	if !seized {
		return err
	}
	return s.Client.Apply(ctx, child.want, client.ForceOwnership)
}

// seize makes the operator the owner of all fields that others have updated in object, as just read from the API server,
// and tells whether there were any.
func (s *Set) seize(ctx context.Context, object client.Object) (bool, error) {
	others := sets.New[string]()
	for _, entry := range object.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" {
			others.Insert(entry.Manager)
		}
	}
	if len(others) == 0 {
		return false, nil
	}
	before := object.DeepCopyObject().(client.Object)
	if err := csaupgrade.UpgradeManagedFields(object, others, string(FieldOwner)); err != nil {
		return false, fmt.Errorf("taking over the fields of others: %w", err)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.Client.Patch(ctx, object, patch); err != nil {
		return false, fmt.Errorf("taking over the fields of others: %w", err)
	}
	return true, nil
}
