package children

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/internal/fakeapi"
)

func configMap() Child {
	want := corev1ac.ConfigMap("demo", "ns").WithLabels(ours()).WithOwnerReferences(&wanted().OwnerReferences[0])
	return New(&corev1.ConfigMap{}, want, corev1ac.ExtractConfigMap)
}

func TestApplyAll(t *testing.T) {
	t.Parallel()
	failure := fakeapi.Errors()["InternalError"]
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: "secret", OwnerReferences: []metav1.OwnerReference{{Kind: "MyApp", Name: "demo", UID: ownerUID, Controller: new(true)}}}}
	unwanted := func() client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns"}}
	}
	all := []string{"apply ConfigMap demo", "apply Service demo", "delete Secret demo"}
	for name, tc := range map[string]struct {
		reason  string
		fail    []string
		writes  []string
		applied int
		errors  int
	}{
		"Well":     {reason: "in the order in which they are wanted", writes: all, applied: 2},
		"OneFails": {reason: "one child's failure does not stop the others", fail: []string{"ConfigMap"}, writes: all, applied: 1, errors: 1},
		"AllFail":  {reason: "no error is lost", fail: []string{"ConfigMap", "Service", "Secret"}, writes: all, applied: 0, errors: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, secret)
			for _, kind := range tc.fail {
				server.Fail("apply", kind, failure)
				server.Fail("delete", kind, failure)
			}
			applied, err := set(server).ApplyAll(t.Context(), theOwner(), []Child{configMap(), child()}, unwanted())
			if diff := cmp.Diff(tc.writes, server.Writes()); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", tc.reason, diff)
			}
			if len(applied) != tc.applied || slices.Contains(applied, nil) {
				t.Errorf("%s: %d are returned as applied, want %d", tc.reason, len(applied), tc.applied)
			}
			if got := len(split(err)); got != tc.errors || (tc.errors > 0 && !errors.Is(err, failure)) {
				t.Errorf("%s: ApplyAll() = %v, want %d errors", tc.reason, err, tc.errors)
			}
		})
	}
}

// Drift that makes the merged object invalid, such as a second kind of probe, is undone by taking over what others have set.
func TestApplySeizesWhatMakesItInvalid(t *testing.T) {
	t.Parallel()
	failures := fakeapi.Errors()
	invalid := failures["Invalid"]
	edited := settled(t, drifted, func(s *corev1.Service) {
		s.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:sessionAffinity":{}}}`),
		}}
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	})
	seizing := []string{applying, "patch Service demo", applying}
	for name, tc := range map[string]struct {
		reason string
		there  []client.Object
		fail   func(*fakeapi.Server)
		want   error
		writes []string
	}{
		"Healed": {
			reason: "what the others have set is gone", there: []client.Object{edited}, writes: seizing,
			fail: func(s *fakeapi.Server) { s.FailOnce("apply", "Service", invalid) },
		},
		"StillInvalid": {
			reason: "it is our own fault, after all", there: []client.Object{edited}, want: invalid, writes: seizing,
			fail: func(s *fakeapi.Server) { s.Fail("apply", "Service", invalid) },
		},
		"NothingToSeize": {
			reason: "nobody else has set anything", there: []client.Object{settled(t, drifted)}, want: invalid, writes: []string{applying},
			fail: func(s *fakeapi.Server) { s.Fail("apply", "Service", invalid) },
		},
		"NotThere": {
			reason: "there is nothing that others could have set", want: invalid, writes: []string{applying},
			fail: func(s *fakeapi.Server) { s.Fail("apply", "Service", invalid) },
		},
		"OtherError": {
			reason: "only what is invalid is worth it", there: []client.Object{edited}, want: failures["Reset"], writes: []string{applying},
			fail: func(s *fakeapi.Server) { s.Fail("apply", "Service", failures["Reset"]) },
		},
		"Overtaken": {
			reason: "somebody was faster", there: []client.Object{edited}, want: failures["Conflict"], writes: seizing[:2],
			fail: func(s *fakeapi.Server) {
				s.Fail("apply", "Service", invalid)
				s.Fail("patch", "Service", failures["Conflict"])
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, tc.there...)
			tc.fail(server)
			_, err := set(server).Apply(t.Context(), theOwner(), child())
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: Apply() = %v, want %v", tc.reason, err, tc.want)
			}
			if diff := cmp.Diff(tc.writes, server.Writes()); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", tc.reason, diff)
			}
			if tc.want == nil && get(t, server).Spec.SessionAffinity != "" {
				t.Errorf("%s: the others' field is still %q", tc.reason, get(t, server).Spec.SessionAffinity)
			}
		})
	}
}

func TestSeizeOfUnreadableFields(t *testing.T) {
	t.Parallel()
	object := settled(t, func(s *corev1.Service) {
		s.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`[`),
		}, {
			Manager: string(FieldOwner), Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`[`),
		}}
	})
	server := fakeapi.New(t, nil)
	if seized, err := set(server).seize(t.Context(), object); seized || err == nil || len(server.Writes()) != 0 {
		t.Errorf("seize() = %t, %v, writes %v", seized, err, server.Writes())
	}
}
