package cluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

func TestWhatAClusterLacks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason           string
		ready            corev1.ConditionStatus
		available, wants int32
		generation       int64
		network          int32
		want             string
	}{
		"Nothing":         {reason: "all is there", ready: corev1.ConditionTrue, available: 2, wants: 2, network: 1},
		"Node":            {reason: "workers join after kind has ended", ready: corev1.ConditionUnknown, available: 2, wants: 2, network: 1, want: "0 of 1 of the nodes"},
		"DNS":             {reason: "one answers and one does not", ready: corev1.ConditionTrue, available: 1, wants: 2, network: 1, want: "1 of 2 of coredns"},
		"DNSNotYet":       {reason: "none of none is not all", ready: corev1.ConditionTrue, network: 1, want: "0 of 0 of coredns"},
		"DNSOfYesterday":  {reason: "its status is of an older generation", ready: corev1.ConditionTrue, available: 2, wants: 2, generation: 2, network: 1, want: "2 of 2 of coredns"},
		"Network":         {reason: "a node without it", ready: corev1.ConditionTrue, available: 2, wants: 2, want: "0 of 1 of network"},
		"NetworkAndNodes": {reason: "all that lacks is told", ready: corev1.ConditionFalse, available: 2, wants: 2, want: "0 of 1 of the nodes, 0 of 1 of network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			system := func(name string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem, Generation: tc.generation}
			}
			objects := []runtime.Object{
				&corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: tc.ready}}}},
				&appsv1.Deployment{ObjectMeta: system("coredns"), Status: appsv1.DeploymentStatus{Replicas: tc.wants, AvailableReplicas: tc.available}},
				&appsv1.DaemonSet{ObjectMeta: system("network"), Status: appsv1.DaemonSetStatus{NumberAvailable: tc.network, ObservedGeneration: tc.generation}},
			}
			if got := notReady(t.Context(), fake.NewClientset(objects...), 1); got != tc.want {
				t.Errorf("%s: notReady() = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
