package e2e_test

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/test/suite"
)

// orphan is that what is given up runs on, until somebody takes it over.
func orphan(kind *suite.Kind) []story {
	return []story{{
		name: "leaves its pods running when it is told so", kind: kind,
		steps: func(s *stage, f *features.FeatureBuilder) {
			before := &remembered{}
			f.Assess("created", s.create(2, func(o client.Object) { *kind.DeletionPolicy(o) = workload.DeletionPolicyOrphan })).
				Assess("it serves", s.serves()).
				Assess("its pods are known", s.remember(before)).
				Assess("deleted", s.kubectlDelete()).
				Assess("its children are nobody's", s.givenUp()).
				Assess("its pods run on", s.same(before)).
				Assess("created again", s.again()).
				Assess("the new one serves", s.serves()).
				Assess("with the same pods", s.same(before)).
				Assess("which are its own", s.children())
		},
	}}
}

// givenUp checks that the children are there, without an owner and without a field of the operator's.
func (s *stage) givenUp() features.Func {
	return do(func(ctx context.Context) error {
		for _, child := range suite.Children(s.owner) {
			if err := s.client.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
				return err
			}
			if refs := child.GetOwnerReferences(); len(refs) > 0 || child.GetDeletionTimestamp() != nil {
				return fmt.Errorf("%T %s belongs to %v and ends at %v", child, child.GetName(), refs, child.GetDeletionTimestamp())
			}
			for _, entry := range child.GetManagedFields() {
				if entry.Manager == string(children.FieldOwner) {
					return fmt.Errorf("the operator still owns fields of %T %s: %s", child, child.GetName(), entry.FieldsV1)
				}
			}
		}
		return nil
	})
}

// again creates a resource of the name of the last one, with as many replicas.
func (s *stage) again() features.Func {
	return do(func(ctx context.Context) error {
		name, n := s.owner.GetName(), **s.kind.Replicas(s.owner)
		s.owner = s.kind.New(s.namespace, s.usual(n), func(o client.Object) { o.SetGenerateName(""); o.SetName(name) })
		return s.client.Create(ctx, s.owner)
	})
}
