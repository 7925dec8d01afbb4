package rollout

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/internal/fakeapi"
)

// operator-sdk#4679, #6166: the nodes are the names of pods that really run.
func TestNodes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		pods   []corev1.Pod
		want   []string
	}{
		"None":   {reason: "no pods, no nodes", pods: nil, want: nil},
		"Sorted": {reason: "the order of a list is no order", pods: []corev1.Pod{podOf("c", isReady), podOf("a", isReady), podOf("b", isReady)}, want: []string{"a", "b", "c"}},
		"NotReady": {
			reason: "a pod without the condition Ready, or with it False or Unknown, serves nobody",
			pods: []corev1.Pod{
				podOf("a"), podOf("b", readyIs(corev1.ConditionFalse, start)), podOf("c", readyIs(corev1.ConditionUnknown, start)), podOf("d", isReady),
			},
			want: []string{"d"},
		},
		"Terminating": {
			reason: "a pod that ends may be ready until it is gone, and must not be named",
			pods:   []corev1.Pod{podOf("a", isReady, ending(start, new(int64(30)))), podOf("b", isReady)},
			want:   []string{"b"},
		},
		"Bare": {
			reason: "a pod that merely carries the labels is not the Deployment's",
			pods:   []corev1.Pod{podOf("a", isReady, func(pod *corev1.Pod) { pod.OwnerReferences = nil })},
			want:   nil,
		},
		"OfAnotherDeployment": {
			reason: "a ReplicaSet of another name belongs to another Deployment",
			pods:   []corev1.Pod{podOf("a", isReady, func(pod *corev1.Pod) { pod.OwnerReferences[0].Name = "other-abc" })},
			want:   nil,
		},
		"OfAnotherKind": {
			reason: "a StatefulSet may have the name of a ReplicaSet",
			pods:   []corev1.Pod{podOf("a", isReady, func(pod *corev1.Pod) { pod.OwnerReferences[0].Kind = "StatefulSet" })},
			want:   nil,
		},
		"OwnedButNotControlled": {
			reason: "an owner that does not control the pod does not count",
			pods:   []corev1.Pod{podOf("a", isReady, func(pod *corev1.Pod) { pod.OwnerReferences[0].Controller = nil })},
			want:   nil,
		},
		"WithoutHash": {
			reason: "without the hash nothing tells whose the ReplicaSet is",
			pods:   []corev1.Pod{podOf("a", isReady, func(pod *corev1.Pod) { pod.Labels = nil })},
			want:   nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Look(deployed(), tc.pods).Nodes()); diff != "" {
				t.Errorf("%s: Nodes() (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestViewOfNothing(t *testing.T) {
	t.Parallel()
	view := Look(nil, []corev1.Pod{podOf("a", isReady, having(waiting("CrashLoopBackOff"), 5, nil))})
	if got := view.Nodes(); len(got) != 0 {
		t.Errorf("pods without a Deployment are nobody's, but Nodes() = %v", got)
	}
	if view.Replicas() != 0 || view.ReadyReplicas() != 0 {
		t.Errorf("Replicas() = %d, ReadyReplicas() = %d, want none", view.Replicas(), view.ReadyReplicas())
	}
	if got := view.Trouble(); got != nil {
		t.Errorf("Trouble() = %v, want none", got)
	}
	if got := view.Settle("me", start); got != 0 {
		t.Errorf("Settle() = %v, but there is nothing to wait for", got)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	view := Look(deployed(counts(5, 3, 2, 1, 4)), nil)
	if view.Replicas() != 5 || view.ReadyReplicas() != 2 {
		t.Errorf("Replicas() = %d, ReadyReplicas() = %d, want the Deployment's 5 and 2", view.Replicas(), view.ReadyReplicas())
	}
}

// What is looked at comes from a cache that others read.
func TestLookLeavesItsInputsAlone(t *testing.T) {
	t.Parallel()
	foreign := podOf("b", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
	deployment, pods := deployed(), []corev1.Pod{podOf("c", isReady), foreign, podOf("a", isReady)}
	beforeDeployment, beforePods := deployment.DeepCopy(), []corev1.Pod{*pods[0].DeepCopy(), *pods[1].DeepCopy(), *pods[2].DeepCopy()}

	view := Look(deployment, pods)
	view.Conditions("Available", Course{})
	view.Settle("me", start)

	if diff := cmp.Diff(beforeDeployment, deployment); diff != "" {
		t.Errorf("the Deployment has changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(beforePods, pods); diff != "" {
		t.Errorf("the pods have changed (-before +after):\n%s", diff)
	}
}

func TestPods(t *testing.T) {
	t.Parallel()
	index := fakeapi.Index{Field: "owner", Extract: func(object client.Object) []string { return []string{object.GetLabels()["owner"]} }}
	labelled := func(name, namespace, owner string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"owner": owner}}}
	}
	server := fakeapi.New(t, []fakeapi.Index{index}, labelled("a", "ns", "me"), labelled("b", "ns", "other"), labelled("c", "else", "me"))

	got, err := Pods(t.Context(), server, "ns", "owner", "me")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Name != "a" {
		t.Errorf("Pods() = %v, want a alone: not another owner's, not another namespace's", got)
	}

	failure := errors.New("etcd is down")
	server.Fail("list", "Pod", failure)
	got, err = Pods(t.Context(), server, "ns", "owner", "me")
	if !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), "listing pods: ") || got != nil {
		t.Errorf("Pods() = %v, %v, want no pods and the failure of the list", got, err)
	}
}
