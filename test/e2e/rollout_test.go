package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/suite"
)

// missingImage cannot be pulled, and that shows at once: nobody listens there.
const missingImage = "localhost:1/missing:1"

// rollout is a rollout that goes wrong, and what becomes of it.
func rollout(kind *suite.Kind) []story {
	return []story{{
		name: "survives a bad rollout", kind: kind, needs: []cluster.Capability{cluster.Containers},
		steps: func(s *stage, f *features.FeatureBuilder) {
			before, image := &remembered{}, ""
			f.Assess("created", s.create(2)).
				Assess("it serves", s.serves()).
				Assess("its pods are known", s.remember(before)).
				Assess("its image is to be one that is missing", s.change(func(o client.Object) {
					image, *kind.Image(o) = *kind.Image(o), missingImage
				})).
				Assess("it tells which pod lacks its image", s.degraded(workload.ReasonImagePullBackOff, missingImage)).
				Assess("and by an event", s.told(corev1.EventTypeWarning, workload.ReasonImagePullBackOff)).
				Assess("the old pods are still ready", s.stillReady(before)).
				Assess("and answer", s.answers()).
				Assess("its image is to be the old one", s.change(func(o client.Object) { *kind.Image(o) = image })).
				Assess("it serves again", s.serves()).
				Assess("the recovery is told", s.told(corev1.EventTypeNormal, "Recovered")).
				Assess("with the old pods", s.contains(before))
		},
	}}
}

// degraded waits until the resource is, for the reason, and names a pod of its own that is not ready.
func (s *stage) degraded(reason, what string) features.Func {
	return do(func(ctx context.Context) error {
		return await(ctx, s.name()+" to be degraded: "+reason, func(ctx context.Context) (string, bool, error) {
			if err := s.read(ctx); err != nil {
				return "", false, err
			}
			pods, err := s.pods(ctx)
			if err != nil {
				return "", false, err
			}
			c := meta.FindStatusCondition(s.kind.Status(s.owner).Conditions, workload.ConditionDegraded)
			names := c != nil && slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !ready(&p) && strings.Contains(c.Message, "pod "+p.Name) })
			return s.conditions(), names && c.Reason == reason && strings.Contains(c.Message, what), nil
		})
	})
}

// told waits for an event about the resource.
func (s *stage) told(kind, reason string) features.Func {
	return do(func(ctx context.Context) error {
		return await(ctx, fmt.Sprintf("an event %s about %s", reason, s.name()), func(ctx context.Context) (string, bool, error) {
			list := &eventsv1.EventList{}
			if err := s.client.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
				return "", false, err
			}
			var seen []string
			found := false
			for _, e := range list.Items {
				if e.Regarding.UID == s.owner.GetUID() {
					seen = append(seen, e.Type+" "+e.Reason)
					found = found || e.Type == kind && e.Reason == reason
				}
			}
			return fmt.Sprint(seen), found, nil
		})
	})
}

// stillReady checks that all pods that are remembered are ready.
func (s *stage) stillReady(memory *remembered) features.Func {
	return do(func(ctx context.Context) error {
		running, err := s.running(ctx)
		if err == nil && !slices.Equal(running, memory.names) {
			err = fmt.Errorf("ready are %v, want the pods from before the rollout, %v", running, memory.names)
		}
		return err
	})
}
