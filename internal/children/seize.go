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

// force applies what child wants. An object that was not there is not forced: where somebody creates one of the name meanwhile,
// the API server finds a conflict of fields instead of handing it over.
//
// Where the object is there and the API server finds the outcome invalid, the fault may be in what others have added to it:
// a port of the same name, a second kind of probe. Then the operator takes over their fields, so that a second apply
// removes what it does not want itself.
func (s *Set) force(ctx context.Context, child Child) error {
	if child.object.GetUID() == "" {
		return s.Client.Apply(ctx, child.want)
	}
	err := s.Client.Apply(ctx, child.want, client.ForceOwnership)
	if !apierrors.IsInvalid(err) {
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
