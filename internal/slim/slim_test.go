package slim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/example-inc/memcached-operator/internal/children"
)

// operator-sdk#4184, controller-runtime#1491: only what carries our label is held.
func TestByObject(t *testing.T) {
	t.Parallel()
	kinds := 0
	for object, by := range ByObject() {
		kinds++
		if by.Label == nil || !by.Label.Matches(labels.Set{children.LabelManagedBy: children.ManagedBy}) {
			t.Errorf("a %T with our label is not held", object)
			continue
		}
		for _, foreign := range []labels.Set{nil, {children.LabelManagedBy: "helm"}, {"app": "memcached"}} {
			if by.Label.Matches(foreign) {
				t.Errorf("a %T with the labels %v is held", object, foreign)
			}
		}
		if _, isPod := object.(*corev1.Pod); isPod && by.Transform == nil {
			t.Error("pods are held whole")
		}
	}
	if kinds != 4 {
		t.Errorf("%d kinds are limited, want the four kinds of children and grandchildren", kinds)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource}
	}
	us := string(children.FieldOwner)
	ours := entry(us, metav1.ManagedFieldsOperationApply, "")
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "demo", ManagedFields: []metav1.ManagedFieldsEntry{
		entry("kubectl", metav1.ManagedFieldsOperationApply, ""), ours,
		entry(us, metav1.ManagedFieldsOperationUpdate, ""), entry(us, metav1.ManagedFieldsOperationApply, "status"),
		entry("kube-controller-manager", metav1.ManagedFieldsOperationUpdate, "status"),
	}}}
	got, err := Object(deployment)
	if err != nil {
		t.Fatal(err)
	}
	want := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "demo", ManagedFields: []metav1.ManagedFieldsEntry{ours}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Object() (-want +got):\n%s", diff)
	}
}

// What is not an object, such as the tombstone of a missed deletion, passes through.
func TestTombstones(t *testing.T) {
	t.Parallel()
	tombstone := toolscache.DeletedFinalStateUnknown{Key: "ns/demo"}
	for name, transform := range map[string]toolscache.TransformFunc{"Object": Object, "Pod": Pod} {
		got, err := transform(tombstone)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(tombstone), got); diff != "" {
			t.Errorf("%s has changed a tombstone (-want +got):\n%s", name, diff)
		}
	}
}

func TestPod(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	last := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	meta := metav1.ObjectMeta{
		Name: "a", Namespace: "ns", UID: "1", ResourceVersion: "7", Labels: map[string]string{"app": "x"},
		OwnerReferences:   []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "demo-abc", UID: "2"}},
		DeletionTimestamp: &at, DeletionGracePeriodSeconds: new(int64(30)),
	}
	failing := corev1.ContainerStatus{Name: "main", Image: "x:v1", RestartCount: 3, State: state, LastTerminationState: last}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", LastTransitionTime: at}
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at}
	want := &corev1.Pod{ObjectMeta: meta, Status: corev1.PodStatus{
		Conditions:        []corev1.PodCondition{ready, scheduled},
		ContainerStatuses: []corev1.ContainerStatus{failing}, InitContainerStatuses: []corev1.ContainerStatus{failing},
	}}

	full := want.DeepCopy()
	full.Annotations = map[string]string{"big": "value"}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	full.Spec = corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "main"}}}
	full.Status.PodIP, full.Status.Phase = "10.0.0.1", corev1.PodRunning
	full.Status.Conditions[0].Message = "changes often"
	full.Status.Conditions = append(full.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized})
	full.Status.ContainerStatuses[0].ContainerID, full.Status.ContainerStatuses[0].ImageID = "c", "i"
	full.Status.ContainerStatuses = append(full.Status.ContainerStatuses, corev1.ContainerStatus{Name: "well", Ready: true})

	got, err := Pod(full)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Pod() (-want +got):\n%s", diff)
	}
}
