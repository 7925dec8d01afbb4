package rollout

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example-inc/memcached-operator/api/workload"
)

// say is a condition in short.
func say(c metav1.Condition) string { return fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason) }

// kluctl#340, camel-k#2691, VictoriaMetrics/operator#1579: old pods, pods that are not available and a status of an older
// spec do not make a rollout ready. Every combination of the counts that matter is tried for two replicas.
func TestServingMatrix(t *testing.T) {
	t.Parallel()
	const want = 2
	for updated := range int32(want + 2) {
		for available := range int32(want + 2) {
			for unavailable := range int32(3) {
				for _, seen := range []bool{true, false} {
					view := Look(deployed(wanting(want), counts(available+unavailable, updated, available, available, unavailable), func(d *appsv1.Deployment) {
						if !seen {
							unobserved(d)
						}
					}), nil)
					status := metav1.ConditionFalse
					switch {
					case !seen:
						status = metav1.ConditionUnknown
					case updated >= want && available >= want && unavailable == 0:
						status = metav1.ConditionTrue
					}
					if got := view.Conditions("Ready", Course{})[0]; got.Status != status {
						t.Errorf("%d updated, %d available, %d unavailable of %d, observed %t: %s, want %s",
							updated, available, unavailable, want, seen, say(got), status)
					}
				}
			}
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	refused := &Trouble{Reason: workload.ReasonForbidden, Message: "quota"}
	const asExpected = "Degraded=False AsExpected"
	for name, tc := range map[string]struct {
		reason     string
		deployment *appsv1.Deployment
		pods       []corev1.Pod
		course     Course
		want       []string
	}{
		"Complete": {
			reason: "everything is there", deployment: deployed(),
			want: []string{"Ready=True ReplicasReady", "Progressing=False RolloutComplete", asExpected},
		},
		"ScaledToZero": {
			reason: "none of none is all", deployment: deployed(wanting(0), counts(0, 0, 0, 0, 0)),
			want: []string{"Ready=True ReplicasReady", "Progressing=False RolloutComplete", asExpected},
		},
		"DefaultReplicas": {
			reason: "unset means one", deployment: deployed(func(d *appsv1.Deployment) { d.Spec.Replicas = nil }, counts(1, 1, 1, 1, 0)),
			want: []string{"Ready=True ReplicasReady", "Progressing=False RolloutComplete", asExpected},
		},
		"Nothing": {
			reason: "no Deployment, nothing known",
			want:   []string{"Ready=False DeploymentMissing", "Progressing=Unknown RolloutPending", asExpected},
		},
		"NotObserved": {
			reason: "the counts are of an older spec", deployment: deployed(unobserved),
			want: []string{"Ready=Unknown RolloutPending", "Progressing=Unknown RolloutPending", asExpected},
		},
		"Creating": {
			reason: "no pod yet", deployment: deployed(counts(0, 0, 0, 0, 3)),
			want: []string{"Ready=False ReplicasPending", "Progressing=True RollingOut", asExpected},
		},
		"OldPodsOnly": {
			reason: "camel-k#2691: three available pods of the old spec", deployment: deployed(counts(4, 1, 3, 3, 1)),
			want: []string{"Ready=False ReplicasPending", "Progressing=True RollingOut", asExpected},
		},
		"OldPodsLeft": {
			reason: "the new pods serve, an old one is on its way out", deployment: deployed(counts(4, 3, 4, 4, 0)),
			want: []string{"Ready=True ReplicasReady", "Progressing=True RollingOut", asExpected},
		},
		"Unschedulable": {
			reason: "the node is missing, which may pass", deployment: deployed(counts(3, 3, 2, 2, 1)),
			pods: []corev1.Pod{podOf("a", isReady), podOf("b", homeless)},
			want: []string{"Ready=False Unschedulable", "Progressing=True RollingOut", asExpected},
		},
		"PodTrouble": {
			reason: "tigera/operator#107: a pod that cannot run is not progress", deployment: deployed(counts(3, 3, 2, 2, 1)),
			pods: []corev1.Pod{podOf("a", having(waiting("ImagePullBackOff"), 0, nil))},
			want: []string{"Ready=False ReplicasPending", "Progressing=False RolloutStopped", "Degraded=True ImagePullBackOff"},
		},
		"TroubleBeforeObserved": {
			reason: "what a pod says is true whatever the Deployment's controller has seen", deployment: deployed(unobserved),
			pods: []corev1.Pod{podOf("a", having(waiting("ImagePullBackOff"), 0, nil))},
			want: []string{"Ready=Unknown RolloutPending", "Progressing=False RolloutStopped", "Degraded=True ImagePullBackOff"},
		},
		"Refused": {
			reason: "infra-operator 67e4bec: a spec that cannot be applied is not served, however well the old one is", deployment: deployed(),
			course: Course{Refused: refused},
			want:   []string{"Ready=False SpecNotApplied", "Progressing=False RolloutStopped", "Degraded=True Forbidden"},
		},
		"RefusedFromTheStart": {
			reason: "there is not even a Deployment", course: Course{Refused: refused},
			want: []string{"Ready=False SpecNotApplied", "Progressing=False RolloutStopped", "Degraded=True Forbidden"},
		},
		"RefusedAndInTrouble": {
			reason: "the refusal comes first: the trouble may be of the old spec", deployment: deployed(counts(3, 3, 2, 2, 1)),
			pods:   []corev1.Pod{podOf("a", having(waiting("ImagePullBackOff"), 0, nil))},
			course: Course{Refused: refused},
			want:   []string{"Ready=False SpecNotApplied", "Progressing=False RolloutStopped", "Degraded=True Forbidden"},
		},
		"Suspended": {
			reason: "the operator only reports", deployment: deployed(counts(3, 3, 2, 2, 1)), course: Course{Suspended: true},
			want: []string{"Ready=False ReplicasPending", "Progressing=False Suspended", asExpected},
		},
		"Terminating": {
			reason: "the deletion goes before all else", deployment: deployed(), course: Course{Suspended: true, Waiting: "the end of pod a"},
			want: []string{"Ready=True ReplicasReady", "Progressing=True Terminating", asExpected},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range Look(tc.deployment, tc.pods).Conditions("Ready", tc.course) {
				got = append(got, say(c))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: Conditions() (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConditionMessages(t *testing.T) {
	t.Parallel()
	rollingOut := "2 of 3 replicas are up to date, 1 available"
	for name, tc := range map[string]struct {
		pods   []corev1.Pod
		course Course
		want   []string
	}{
		"Counts":        {want: []string{rollingOut, rollingOut, ""}},
		"Unschedulable": {pods: []corev1.Pod{podOf("b", homeless), podOf("a", homeless)}, want: []string{rollingOut + "; no node takes pod a", rollingOut, ""}},
		"Waiting":       {course: Course{Waiting: "the end of pod a"}, want: []string{rollingOut, "waiting for the end of pod a", ""}},
		"Refused": {
			course: Course{Refused: &Trouble{Reason: "Forbidden", Message: "quota"}},
			want:   []string{"see the condition Degraded", "see the condition Degraded", "quota"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range Look(deployed(counts(3, 2, 1, 1, 2)), tc.pods).Conditions("Ready", tc.course) {
				got = append(got, c.Message)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}
