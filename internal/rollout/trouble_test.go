package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example-inc/memcached-operator/api/workload"
)

var (
	exited    = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
	outOfMem  = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	completed = &corev1.ContainerStateTerminated{ExitCode: 0}
)

// tigera/operator#107, cluster-network-operator#668: what stops a rollout is told, with the reason and the pod's name.
func TestTrouble(t *testing.T) {
	t.Parallel()
	init := func(pod *corev1.Pod) {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", Image: "init:v1", State: waiting("CrashLoopBackOff"), LastTerminationState: corev1.ContainerState{Terminated: exited}}}
	}
	failing := saying(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "exceeded quota")
	late := saying(appsv1.DeploymentProgressing, corev1.ConditionFalse, "has timed out")
	for name, tc := range map[string]struct {
		reason     string
		deployment *appsv1.Deployment
		pods       []corev1.Pod
		want       *Trouble
	}{
		"None":    {reason: "all is well", deployment: deployed(), pods: []corev1.Pod{podOf("a", isReady)}},
		"Pending": {reason: "a container that is being created is no trouble", deployment: deployed(), pods: []corev1.Pod{podOf("a", having(waiting("ContainerCreating"), 0, nil))}},
		"Starting": {
			reason: "a container that has not been found ready yet is no trouble", deployment: deployed(),
			pods: []corev1.Pod{podOf("a", having(running(), 0, nil))},
		},
		"FirstRestart": {
			reason: "kubelet restarts once without delay, which often helps", deployment: deployed(),
			pods: []corev1.Pod{podOf("a", having(running(), 1, exited))},
		},
		"Image": {
			reason: "the image's name helps most", deployment: deployed(), pods: []corev1.Pod{podOf("a", having(waiting("ErrImagePull"), 0, nil))},
			want: &Trouble{workload.ReasonImagePullBackOff, "pod a: container main with image app:v1"},
		},
		"Crash": {
			reason: "the exit code helps most", deployment: deployed(), pods: []corev1.Pod{podOf("a", having(waiting("CrashLoopBackOff"), 3, exited))},
			want: &Trouble{workload.ReasonCrashLoopBackOff, "pod a: container main with image app:v1 ended with exit code 1"},
		},
		"OutOfMemory": {
			reason: "dragonfly-operator#71: that memory ran out is to be seen", deployment: deployed(),
			pods: []corev1.Pod{podOf("a", having(waiting("CrashLoopBackOff"), 3, outOfMem))},
			want: &Trouble{workload.ReasonCrashLoopBackOff, "pod a: container main with image app:v1 ended with exit code 137 (OOMKilled)"},
		},
		"Completed": {
			reason: "a server must not end, not even well", deployment: deployed(), pods: []corev1.Pod{podOf("a", having(running(), 2, completed))},
			want: &Trouble{workload.ReasonCrashLoopBackOff, "pod a: container main with image app:v1 ended with exit code 0"},
		},
		"CannotStart": {
			reason: "a missing Secret and the like", deployment: deployed(), pods: []corev1.Pod{podOf("a", having(waiting("CreateContainerConfigError"), 0, nil))},
			want: &Trouble{workload.ReasonContainerCannotStart, "pod a: container main with image app:v1"},
		},
		"Init": {
			reason: "init containers come first", deployment: deployed(), pods: []corev1.Pod{podOf("a", init, having(waiting("PodInitializing"), 0, nil))},
			want: &Trouble{workload.ReasonCrashLoopBackOff, "pod a: container init with image init:v1 ended with exit code 1"},
		},
		"FirstPod": {
			reason: "the same pod each time, so that the condition stands still", deployment: deployed(),
			pods: []corev1.Pod{podOf("b", having(waiting("ErrImagePull"), 0, nil)), podOf("a", having(waiting("ImagePullBackOff"), 0, nil))},
			want: &Trouble{workload.ReasonImagePullBackOff, "pod a: container main with image app:v1"},
		},
		"Ready": {
			reason: "a pod that serves has no trouble, however often it was restarted", deployment: deployed(),
			pods: []corev1.Pod{podOf("a", isReady, having(running(), 9, exited))},
		},
		"ContainerReady": {
			reason: "one container serves, the pod waits for another", deployment: deployed(),
			pods: []corev1.Pod{podOf("a", having(running(), 9, exited), func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].Ready = true })},
		},
		"Terminating": {
			reason: "a pod on its way out troubles nobody", deployment: deployed(),
			pods: []corev1.Pod{podOf("a", ending(start, nil), having(waiting("CrashLoopBackOff"), 3, exited))},
		},
		"ReplicaFailure": {
			reason: "no pod can be created", deployment: deployed(failing, late), want: &Trouble{workload.ReasonReplicaFailure, "exceeded quota"},
		},
		"ReplicaFailurePassed": {reason: "it has passed", deployment: deployed(saying(appsv1.DeploymentReplicaFailure, corev1.ConditionFalse, ""))},
		"Deadline": {
			reason: "it does not move", deployment: deployed(late), want: &Trouble{workload.ReasonProgressDeadlineExceeded, "has timed out"},
		},
		"DeadlineUnschedulable": {
			reason: "and this is why", deployment: deployed(late), pods: []corev1.Pod{podOf("a", homeless)},
			want: &Trouble{workload.ReasonProgressDeadlineExceeded, "has timed out; no node takes pod a"},
		},
		"Moving":      {reason: "it moves", deployment: deployed(saying(appsv1.DeploymentProgressing, corev1.ConditionTrue, ""))},
		"OfAnOldSpec": {reason: "the conditions are of an older spec", deployment: deployed(failing, late, unobserved)},
		"PodComesFirst": {
			reason: "a pod's own words tell more", deployment: deployed(failing, late), pods: []corev1.Pod{podOf("a", having(waiting("CrashLoopBackOff"), 2, nil))},
			want: &Trouble{workload.ReasonCrashLoopBackOff, "pod a: container main with image app:v1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Look(tc.deployment, tc.pods).Trouble()); diff != "" {
				t.Errorf("%s: Trouble() (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Each state of kubelet that means the same is called the same.
func TestWaitingReasons(t *testing.T) {
	t.Parallel()
	for want, reasons := range map[string][]string{
		workload.ReasonImagePullBackOff: {
			"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed",
		},
		workload.ReasonContainerCannotStart: {
			"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreStartHookError", "PostStartHookError",
		},
		workload.ReasonCrashLoopBackOff: {"CrashLoopBackOff"},
		"":                              {"ContainerCreating", "PodInitializing", "SomethingNew", ""},
	} {
		for _, reason := range reasons {
			if got := containerTrouble(&corev1.ContainerStatus{State: waiting(reason)}); got != want {
				t.Errorf("a container that waits because of %q is in trouble %q, want %q", reason, got, want)
			}
		}
	}
}

// tigera/operator#107: while kubelet tries again and again, the condition stands still.
func TestTroubleStandsStill(t *testing.T) {
	t.Parallel()
	for name, states := range map[string][]func(*corev1.Pod){
		"ErrImagePull and ImagePullBackOff": {
			having(waiting("ErrImagePull"), 0, nil), having(waiting("ImagePullBackOff"), 0, nil), having(waiting("ErrImagePull"), 0, nil),
		},
		"running, ended and CrashLoopBackOff": {
			having(waiting("CrashLoopBackOff"), 1, exited), having(running(), 2, exited), having(corev1.ContainerState{Terminated: exited}, 2, exited),
			having(waiting("CrashLoopBackOff"), 2, exited), having(running(), 3, exited),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := Look(deployed(), []corev1.Pod{podOf("a", states[0])}).Trouble()
			if first == nil {
				t.Fatal("no trouble")
			}
			for i, state := range states {
				if diff := cmp.Diff(first, Look(deployed(), []corev1.Pod{podOf("a", state)}).Trouble()); diff != "" {
					t.Errorf("state %d says something else (-first +now):\n%s", i, diff)
				}
			}
		})
	}
}
