package e2e_test

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/suite"
)

// scaling is that the status follows the pods, and in a Memcached their names.
func scaling(kind *suite.Kind) []story {
	return []story{
		{
			name: "is scaled up and down by kubectl scale", kind: kind,
			steps: func(s *stage, f *features.FeatureBuilder) {
				before := &remembered{}
				f.Assess("created", s.create(2)).
					Assess("it serves", s.serves()).
					Assess("its pods are known", s.remember(before)).
					Assess("scaled up to 4", s.scale(4)).
					Assess("its spec has 4", s.asksFor(4)).
					Assess("it serves with 4", s.serves()).
					Assess("those that were there still are", s.contains(before)).
					Assess("scaled down to 1", s.scale(1)).
					Assess("its spec has 1", s.asksFor(1)).
					Assess("it serves with 1", s.serves())
			},
		},
		{
			name: "replaces a pod that is killed", kind: kind,
			steps: func(s *stage, f *features.FeatureBuilder) {
				before := &remembered{}
				f.Assess("created", s.create(3)).
					Assess("it serves", s.serves()).
					Assess("its pods are known", s.remember(before)).
					Assess("one is killed", s.kill(before)).
					Assess("it serves with another", s.serves())
			},
		},
		{
			name: "rolls out", kind: kind,
			steps: func(s *stage, f *features.FeatureBuilder) {
				before := &remembered{}
				f.Assess("created", s.create(3)).
					Assess("it serves", s.serves()).
					Assess("its pods are known", s.remember(before)).
					Assess("its pods are to have an annotation", s.change(func(o client.Object) {
						*kind.PodTemplate(o) = &workload.PodTemplate{Annotations: map[string]string{"example.com/rollout": "2"}}
					})).
					Assess("it serves again", s.serves()).
					Assess("no old pod is left", s.replaced(before))
			},
		},
	}
}

func (s *stage) asksFor(n int32) features.Func {
	return do(func(ctx context.Context) error {
		err := s.read(ctx)
		if got := *s.kind.Replicas(s.owner); err == nil && *got != n {
			err = fmt.Errorf("the spec of %s asks for %d replicas, want %d", s.name(), *got, n)
		}
		return err
	})
}

// contains checks that all pods that are remembered are there.
func (s *stage) contains(memory *remembered) features.Func {
	return do(func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		now := uids(pods)
		for _, uid := range memory.uids {
			if err == nil && !slices.Contains(now, uid) {
				err = fmt.Errorf("pod %s is gone, the pods are %v", uid, now)
			}
		}
		return err
	})
}

// replaced checks that none of the pods that are remembered is there.
func (s *stage) replaced(memory *remembered) features.Func {
	return do(func(ctx context.Context) error {
		running, err := s.running(ctx)
		for _, name := range running {
			if slices.Contains(memory.names, name) {
				err = fmt.Errorf("pod %s is from before the rollout", name)
			}
		}
		return err
	})
}

// kill deletes the second of the pods that are remembered, and waits until it counts no more.
func (s *stage) kill(memory *remembered) features.Func {
	return do(func(ctx context.Context) error {
		victim := &corev1.Pod{}
		victim.Namespace, victim.Name = s.namespace, memory.names[1]
		if err := s.client.Delete(ctx, victim); err != nil {
			return err
		}
		return await(ctx, "pod "+victim.Name+" to stop", func(ctx context.Context) (string, bool, error) {
			running, err := s.running(ctx)
			return fmt.Sprintf("running are %v", running), !slices.Contains(running, victim.Name), err
		})
	})
}
