package e2e_test

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/test/suite"
)

// lifecycle is a resource's way from its creation to its end.
func lifecycle(kind *suite.Kind) []story {
	return []story{{
		name: "is created, serves and goes", kind: kind,
		steps: func(s *stage, f *features.FeatureBuilder) {
			f.Assess("created", s.create(3)).
				Assess("it serves", s.serves()).
				Assess("its children are there", s.children()).
				Assess("its finalizer holds it", s.held()).
				Assess("kubectl delete in the foreground returns", s.kubectlDelete("--cascade=foreground")).
				Assess("and then no pod is left", s.noPods())
		},
	}}
}

// children checks that Service, Deployment and disruption budget are there, and the resource's.
func (s *stage) children() features.Func {
	return do(func(ctx context.Context) error {
		for _, child := range suite.Children(s.owner) {
			if err := s.client.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
				return err
			}
			if refs := child.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != s.owner.GetUID() {
				return fmt.Errorf("%T %s belongs to %v, want %s", child, child.GetName(), refs, s.name())
			}
		}
		return nil
	})
}

func (s *stage) held() features.Func {
	return do(func(ctx context.Context) error {
		err := s.read(ctx)
		if err == nil && !controllerutil.ContainsFinalizer(s.owner, s.kind.Finalizer) {
			err = fmt.Errorf("the finalizers of %s are %v, want %s", s.name(), s.owner.GetFinalizers(), s.kind.Finalizer)
		}
		return err
	})
}

// kubectlDelete deletes the resource as people do, and returns when kubectl does.
func (s *stage) kubectlDelete(args ...string) features.Func {
	return do(func(ctx context.Context) error {
		_, err := s.kubectl(ctx, append([]string{"delete", s.kind.Resource, s.owner.GetName(), "--namespace", s.namespace}, args...)...)
		return err
	})
}
