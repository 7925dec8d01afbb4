package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/example-inc/memcached-operator/api/workload"
)

// drawPods draws pods of distinct names: some foreign, some ready, some on their way out, some failing.
func drawPods(t *rapid.T) []corev1.Pod {
	var pods []corev1.Pod
	for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, "order")[:rapid.IntRange(0, 6).Draw(t, "pods")] {
		pod := podOf(fmt.Sprintf("pod-%d", i))
		change := map[string]func(*corev1.Pod){
			"ready":         isReady,
			"foreign":       func(pod *corev1.Pod) { pod.OwnerReferences = nil },
			"ending":        ending(start.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "ended"))*time.Second), new(int64(30))),
			"failing":       having(waiting("ErrImagePull"), 0, nil),
			"unschedulable": homeless,
		}
		for _, name := range []string{"ready", "foreign", "ending", "failing", "unschedulable"} {
			if rapid.Bool().Draw(t, name) {
				change[name](&pod)
			}
		}
		pods = append(pods, pod)
	}
	return pods
}

func drawDeployment(t *rapid.T) *appsv1.Deployment {
	n := rapid.Int32Range(0, 4)
	return deployed(
		wanting(n.Draw(t, "wanted")),
		counts(n.Draw(t, "replicas"), n.Draw(t, "updated"), n.Draw(t, "ready"), n.Draw(t, "available"), n.Draw(t, "unavailable")),
		func(d *appsv1.Deployment) { d.Status.ObservedGeneration += rapid.Int64Range(-1, 0).Draw(t, "observed") },
		saying(appsv1.DeploymentReplicaFailure, rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "failure"), "failure"),
	)
}

func TestNodesAreASortedSetOfThePods(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t)
		var names []string
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		nodes := Look(deployed(), pods).Nodes()
		if !slices.IsSorted(nodes) {
			t.Errorf("Nodes() = %v, not sorted", nodes)
		}
		if unique := slices.Compact(slices.Clone(nodes)); len(unique) != len(nodes) {
			t.Errorf("Nodes() = %v, not unique", nodes)
		}
		for _, node := range nodes {
			if !slices.Contains(names, node) {
				t.Errorf("Nodes() = %v, but the pods are %v", nodes, names)
			}
		}
		slices.Reverse(pods)
		if again := Look(deployed(), pods).Nodes(); !slices.Equal(nodes, again) {
			t.Errorf("Nodes() = %v, and %v in another order of the pods", nodes, again)
		}
	})
}

// Whatever is seen, what is said is consistent and valid.
func TestConditionsAreConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var deployment *appsv1.Deployment
		if rapid.Bool().Draw(t, "deployed") {
			deployment = drawDeployment(t)
		}
		course := Course{Suspended: rapid.Bool().Draw(t, "suspended"), Waiting: rapid.SampledFrom([]string{"", "the end"}).Draw(t, "waiting")}
		if rapid.Bool().Draw(t, "refused") {
			course.Refused = &Trouble{Reason: workload.ReasonForbidden}
		}
		pods := drawPods(t)
		all := Look(deployment, pods).Conditions("Ready", course)

		for i, kind := range []string{"Ready", workload.ConditionProgressing, workload.ConditionDegraded} {
			if all[i].Type != kind || all[i].Reason == "" || all[i].Status == "" {
				t.Errorf("condition %d is %+v, want a %s with status and reason", i, all[i], kind)
			}
		}
		is := func(i int, status metav1.ConditionStatus) bool { return all[i].Status == status }
		if is(0, metav1.ConditionTrue) && (deployment == nil || deployment.Status.ObservedGeneration < deployment.Generation || course.Refused != nil) {
			t.Errorf("ready without a Deployment that has been observed: %v", all)
		}
		if is(2, metav1.ConditionTrue) && is(1, metav1.ConditionTrue) && course.Waiting == "" {
			t.Errorf("in trouble and progressing: %v", all)
		}
		slices.Reverse(pods)
		if again := Look(deployment, pods).Conditions("Ready", course); !slices.Equal(all, again) {
			t.Errorf("the order of the pods changes what is said: %v, then %v", all, again)
		}
	})
}

// Waiting always comes to an end, and trouble never waits.
func TestSettleEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		view := Look(drawDeployment(t), drawPods(t))
		now := start.Add(time.Duration(rapid.Int64Range(-60, 60).Draw(t, "now")) * time.Second)
		wait := view.Settle("me", now)
		if wait < 0 {
			t.Errorf("Settle() = %v, in the past", wait)
		}
		if wait > 0 && view.Trouble() != nil {
			t.Errorf("trouble waits %v to be told", wait)
		}
		if again := view.Settle("me", now.Add(wait)); again != 0 {
			t.Errorf("after Settle() = %v it is %v again", wait, again)
		}
	})
}
