package memcached

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/internal/lifecycle"
	"github.com/example-inc/memcached-operator/internal/rollout"
)

// kubectl#962, operator-sdk#6166: the status and each condition say of which generation they speak, and the nodes are there.
func TestNext(t *testing.T) {
	t.Parallel()
	deploy := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Status: appsv1.DeploymentStatus{Replicas: 2, ReadyReplicas: 1}}
	mc := sample(2, func(mc *cachev1.Memcached) { mc.Generation = 7 })
	old := cachev1.MemcachedStatus{ObservedGeneration: 6, Selector: "old", Nodes: []string{"gone"}}
	got := next(old, mc, rollout.Look(deploy, []corev1.Pod{*podOf("demo-abc-b"), *podOf("demo-abc-a")}), lifecycle.Observation{Waiting: "the end"})

	want := cachev1.MemcachedStatus{
		ObservedGeneration: 7, Replicas: 2, ReadyReplicas: 1, Selector: "app=memcached,memcached_cr=demo", Nodes: []string{"demo-abc-a", "demo-abc-b"},
		Conditions: []metav1.Condition{
			{Type: "Available", Status: "False", Reason: "ReplicasPending", Message: "0 of 1 replicas are up to date, 0 available", ObservedGeneration: 7},
			{Type: "Progressing", Status: "True", Reason: "Terminating", Message: "waiting for the end", ObservedGeneration: 7},
			{Type: "Degraded", Status: "False", Reason: "AsExpected", ObservedGeneration: 7},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
		t.Errorf("next() (-want +got):\n%s", diff)
	}
}
