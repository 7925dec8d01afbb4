package myapp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestRequestOfPod(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		labels map[string]string
		want   []reconcile.Request
	}{
		"Ours":       {reason: "a pod wakes up the MyApp that it names", labels: identity(sample(1)), want: []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "demo"}}}},
		"NoLabels":   {reason: "a pod of nobody"},
		"OtherApp":   {reason: "a pod of another application", labels: map[string]string{labelName: "other", labelInstance: "demo"}},
		"NoInstance": {reason: "a pod that names nobody", labels: map[string]string{labelName: appName}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := podOf("a")
			pod.Labels = tc.labels
			if diff := cmp.Diff(tc.want, requestOfPod(t.Context(), pod), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: requestOfPod() (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What the index finds a pod by is what makes the pod's selector: a pod that is selected is found.
func TestIndexFindsWhatIsSelected(t *testing.T) {
	t.Parallel()
	pod := podOf("a")
	pod.Labels = built(t, sample(1)).Spec.Template.Labels
	if diff := cmp.Diff([]string{"demo"}, indexPod(pod)); diff != "" {
		t.Errorf("indexPod() (-want +got):\n%s", diff)
	}
}
