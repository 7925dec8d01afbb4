package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/test/suite"
)

// deletion is a resource's end, by each way that leads there.
func deletion(kind *suite.Kind) []story {
	return []story{
		{
			name: "goes with its namespace", kind: kind,
			steps: func(s *stage, f *features.FeatureBuilder) {
				f.Assess("created", s.create(2)).
					Assess("it serves", s.serves()).
					Assess("the namespace is deleted", s.deleteNamespace()).
					Assess("the namespace goes", s.namespaceGone())
			},
		},
		{
			name: "is taken down in order", kind: kind,
			steps: func(s *stage, f *features.FeatureBuilder) {
				ended := &funeral{}
				f.Assess("created", s.create(2)).
					Assess("it serves", s.serves()).
					Assess("its end is watched", ended.watch(s)).
					Assess("kubectl delete returns", s.kubectlDelete()).
					Assess("and then no pod is left", s.noPods()).
					Assess("each went in its turn", ended.order("Service", "Pod", "Pod", "Deployment", "PodDisruptionBudget", kind.Name))
			},
		},
		{
			name: "is deleted and created again at once", kind: kind,
			steps: func(s *stage, f *features.FeatureBuilder) {
				before := &remembered{}
				f.Assess("created", s.create(2)).
					Assess("it serves", s.serves()).
					Assess("its pods are known", s.remember(before)).
					Assess("deleted in the background", s.delete(metav1.DeletePropagationBackground)).
					Assess("created again as soon as the name is free", s.replace()).
					Assess("none of its pods is old", s.replaced(before)).
					Assess("it serves", s.serves())
			},
		},
	}
}

func (s *stage) delete(policy metav1.DeletionPropagation) features.Func {
	return do(func(ctx context.Context) error {
		return s.client.Delete(ctx, s.owner, client.PropagationPolicy(policy))
	})
}

// replace creates a resource of the same name until the name is free.
func (s *stage) replace() features.Func {
	return do(func(ctx context.Context) error {
		name := s.owner.GetName()
		next := s.kind.New(s.namespace, s.usual(**s.kind.Replicas(s.owner)), func(o client.Object) { o.SetGenerateName(""); o.SetName(name) })
		err := await(ctx, "the name "+name+" to be free", func(ctx context.Context) (string, bool, error) {
			err := s.client.Create(ctx, next)
			return "", err == nil, err
		})
		s.owner = next
		return err
	})
}

func (s *stage) deleteNamespace() features.Func {
	return do(func(ctx context.Context) error {
		return s.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})
	})
}

func (s *stage) namespaceGone() features.Func {
	return do(func(ctx context.Context) error {
		return await(ctx, "the end of namespace "+s.namespace, func(ctx context.Context) (string, bool, error) {
			namespace := &corev1.Namespace{}
			err := s.client.Get(ctx, client.ObjectKey{Name: s.namespace}, namespace)
			if apierrors.IsNotFound(err) {
				return "", true, nil
			}
			return fmt.Sprintf("it is %s: %v", namespace.Status.Phase, namespace.Status.Conditions), false, err
		})
	})
}

// funeral is what has been deleted in a namespace.
type funeral struct{ watches []watch.Interface }

// watch begins to watch what is deleted. It ends with the feature.
func (f *funeral) watch(s *stage) features.Func {
	return do(func(ctx context.Context) error {
		for _, list := range []client.ObjectList{
			&corev1.ServiceList{}, &appsv1.DeploymentList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{}, s.kind.List(),
		} {
			watched, err := s.client.Watch(ctx, list, client.InNamespace(s.namespace))
			if err != nil {
				return fmt.Errorf("watching %T: %w", list, err)
			}
			f.watches = append(f.watches, watched)
		}
		return nil
	})
}

// order waits until as many objects as are wanted have gone, and compares their kinds in the order of the API server's
// revisions: several watches have no order among them.
func (f *funeral) order(want ...string) features.Func {
	return do(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not all of %v have gone within %s", want, limit))
		defer cancel()
		gone := make(chan client.Object)
		for _, watched := range f.watches {
			defer watched.Stop()
			go func() {
				for event := range watched.ResultChan() {
					if object, ok := event.Object.(client.Object); ok && event.Type == watch.Deleted {
						select {
						case gone <- object:
						case <-ctx.Done():
						}
					}
				}
			}()
		}
		var seen []client.Object
		for len(seen) < len(want) {
			select {
			case object := <-gone:
				seen = append(seen, object)
			case <-ctx.Done():
				return fmt.Errorf("%w: seen were %v", context.Cause(ctx), kindsOf(seen))
			}
		}
		var errs error
		slices.SortFunc(seen, func(a, b client.Object) int {
			order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
			errs = errors.Join(errs, err)
			return order
		})
		if got := kindsOf(seen); !slices.Equal(got, want) {
			errs = errors.Join(errs, fmt.Errorf("they went in the order %v, want %v", got, want))
		}
		return errs
	})
}

func kindsOf(objects []client.Object) []string {
	var all []string
	for _, object := range objects {
		all = append(all, reflect.TypeOf(object).Elem().Name())
	}
	return all
}
