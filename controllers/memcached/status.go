package memcached

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	cachev1ac "github.com/example-inc/memcached-operator/api/cache/v1/applyconfiguration/cache/v1"
	"github.com/example-inc/memcached-operator/internal/conditions"
	"github.com/example-inc/memcached-operator/internal/lifecycle"
	"github.com/example-inc/memcached-operator/internal/rollout"
	"github.com/example-inc/memcached-operator/internal/status"
)

// statusKind is how a Memcached keeps its status.
var statusKind = status.Kind[*cachev1.Memcached, cachev1.MemcachedStatus]{
	New:                func() *cachev1.Memcached { return &cachev1.Memcached{} },
	Of:                 func(mc *cachev1.Memcached) *cachev1.MemcachedStatus { return &mc.Status },
	Conditions:         func(s *cachev1.MemcachedStatus) []metav1.Condition { return s.Conditions },
	ObservedGeneration: func(s *cachev1.MemcachedStatus) int64 { return s.ObservedGeneration },
	Apply: func(mc *cachev1.Memcached, s cachev1.MemcachedStatus) (runtime.ApplyConfiguration, error) {
		ac := cachev1ac.MemcachedStatus()
		err := status.Configure(s, ac)
		return cachev1ac.Memcached(mc.Name, mc.Namespace).WithUID(mc.UID).WithStatus(ac), err
	},
}

// next is the status after old, of what has been seen of mc.
func next(old cachev1.MemcachedStatus, mc *cachev1.Memcached, view rollout.View, seen lifecycle.Observation) cachev1.MemcachedStatus {
	now := view.Conditions(cachev1.ConditionAvailable, rollout.Course{
		Refused:   seen.Outcome.Refused,
		Suspended: ptr.Deref(mc.Spec.Suspend, false),
		Waiting:   seen.Waiting,
	})
	return cachev1.MemcachedStatus{
		ObservedGeneration: mc.Generation,
		Replicas:           view.Replicas(),
		ReadyReplicas:      view.ReadyReplicas(),
		Selector:           labels.SelectorFromSet(selector(mc)).String(),
		Nodes:              view.Nodes(),
		Conditions:         conditions.Next(old.Conditions, mc.Generation, now...),
	}
}
