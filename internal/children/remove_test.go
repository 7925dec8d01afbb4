package children

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

const deleting = "delete Service demo"

// notOurs are objects that must never be deleted or released.
func notOurs(t *testing.T) map[string]*corev1.Service {
	t.Helper()
	return map[string]*corev1.Service{
		"Foreign":      settled(t, foreign),
		"OfOtherOwner": settled(t, controlled("MyApp", "other")),
		"OfNamesake":   settled(t, controlled("MyApp", "demo")),
	}
}

// What has lost its owner, to the garbage collector for one, lives on, and without fields of the operator's.
func TestRemoveGivesUpWhatHasNoOwner(t *testing.T) {
	t.Parallel()
	server := fakeapi.New(t, nil, settled(t, left))
	for range 2 {
		if fate, err := set(server).Remove(t.Context(), theOwner().Object, empty()); fate != Kept || err != nil {
			t.Fatalf("Remove() = %d, %v, want it to be kept", fate, err)
		}
	}
	for _, entry := range get(t, server).ManagedFields {
		if entry.Manager == string(FieldOwner) {
			t.Errorf("the operator still owns %s", entry.FieldsV1)
		}
	}
	if writes := server.Writes(); len(writes) != 1 {
		t.Errorf("writes %v, want one patch", writes)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	server := fakeapi.New(t, nil, settled(t))
	fate, err := set(server).Remove(t.Context(), theOwner().Object, empty())
	if fate != Going || err != nil {
		t.Fatalf("Remove() = %d, %v, want it to be on its way", fate, err)
	}
	options := server.Find(t, deleting).Delete
	if uid := options.Preconditions.UID; uid == nil || *uid != "service" {
		t.Errorf("the delete does not name the UID of what was looked at: %v", options.Preconditions)
	}
	if policy := options.PropagationPolicy; policy == nil || *policy != metav1.DeletePropagationForeground {
		t.Errorf("the delete's propagation is %v, want the foreground: gone means that its pods are gone", policy)
	}

	if fate, err := set(server).Remove(t.Context(), theOwner().Object, empty()); fate != Gone || err != nil {
		t.Errorf("Remove() of what is gone = %d, %v", fate, err)
	}
}

func TestRemoveWaitsForWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	server := fakeapi.New(t, nil, settled(t, deleted))
	fate, err := set(server).Remove(t.Context(), theOwner().Object, empty())
	if fate != Going || err != nil || len(server.Writes()) != 0 {
		t.Errorf("Remove() = %d, %v, writes %v, want it to wait", fate, err, server.Writes())
	}
}

// mcp-lifecycle-operator#85: what belongs to somebody else is neither deleted nor waited for.
func TestRemoveAndReleaseLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	for name, object := range notOurs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, object)
			if fate, err := set(server).Remove(t.Context(), theOwner().Object, empty()); fate != Kept || err != nil {
				t.Errorf("Remove() = %d, %v, want it to be kept", fate, err)
			}
			if err := set(server).Prune(t.Context(), theOwner().Object, empty()); err != nil {
				t.Errorf("Prune() = %v", err)
			}
			if err := set(server).Release(t.Context(), theOwner().Object, empty()); err != nil {
				t.Errorf("Release() = %v", err)
			}
			if writes := server.Writes(); len(writes) != 0 {
				t.Errorf("writes to an object of somebody else: %v", writes)
			}
		})
	}
}

// A deletion decides by the API server, pruning by the cache: the one must be sure, the other must cost nothing.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	live, cached := fakeapi.New(t, nil, settled(t)), fakeapi.New(t, nil)
	s := &Set{Client: live.Behind(cached), Live: live}
	if err := s.Prune(t.Context(), theOwner().Object, empty()); err != nil || len(live.Requests()) != 0 {
		t.Errorf("Prune() = %v, requests %v, want none: the cache holds nothing", err, live.Requests())
	}
	if fate, err := s.Remove(t.Context(), theOwner().Object, empty()); fate != Going || err != nil {
		t.Errorf("Remove() = %d, %v, although the API server still holds it", fate, err)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "3"}
	kubectl := metav1.ManagedFieldsEntry{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:app":{}}}}`),
	}
	for name, change := range map[string]func(*corev1.Service){
		"Alone": func(*corev1.Service) {},
		"Shared": func(s *corev1.Service) {
			s.OwnerReferences = append(s.OwnerReferences, other)
			s.ManagedFields = append(s.ManagedFields, kubectl)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := settled(t, change)
			server := fakeapi.New(t, nil, before, theOwner().Object)
			if err := set(server).Release(t.Context(), theOwner().Object, empty()); err != nil {
				t.Fatal(err)
			}
			after := get(t, server)
			for _, entry := range after.ManagedFields {
				if entry.Manager == string(FieldOwner) {
					t.Errorf("the operator still owns %s", entry.FieldsV1)
				}
			}
			for _, owner := range after.OwnerReferences {
				if owner.UID == ownerUID {
					t.Errorf("the owner is still one of %v", after.OwnerReferences)
				}
			}
			if name == "Shared" && (len(after.OwnerReferences) != 1 || len(after.ManagedFields) != 1) {
				t.Errorf("of the others' owners and fields are left: %v, %v", after.OwnerReferences, after.ManagedFields)
			}
			if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
				t.Errorf("the Service has changed (-before +after):\n%s", diff)
			}
			if body := server.Find(t, "patch Service demo").Body; !strings.Contains(body, `"resourceVersion":"`+before.ResourceVersion+`"`) {
				t.Errorf("the patch does not say which version it changes: %s", body)
			}

			server.Forget()
			if err := set(server).Release(t.Context(), theOwner().Object, empty()); err != nil || len(server.Writes()) != 0 {
				t.Errorf("Release() again = %v, writes %v", err, server.Writes())
			}
			if _, err := set(server).Apply(t.Context(), theOwner(), child()); err != nil {
				t.Errorf("a namesake cannot take it over: %v", err)
			}
		})
	}
}

func TestReleaseOfNothing(t *testing.T) {
	t.Parallel()
	server := fakeapi.New(t, nil)
	if err := set(server).Release(t.Context(), theOwner().Object, empty()); err != nil || len(server.Writes()) != 0 {
		t.Errorf("Release() = %v, writes %v", err, server.Writes())
	}
}

// Each failure is told with what was being done; what has gone in the meantime is no failure.
func TestRemovalErrors(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, s *Set) error {
		_, err := s.Remove(t.Context(), theOwner().Object, empty())
		return err
	}
	prune := func(t *testing.T, s *Set) error { return s.Prune(t.Context(), theOwner().Object, empty()) }
	release := func(t *testing.T, s *Set) error { return s.Release(t.Context(), theOwner().Object, empty()) }
	for name, failure := range fakeapi.Errors() {
		for call, tc := range map[string]struct {
			do         func(*testing.T, *Set) error
			verb, want string
		}{
			"RemoveGet": {remove, "get", "reading"}, "RemoveDelete": {remove, "delete", "deleting"},
			"PruneGet": {prune, "get", "reading"}, "PruneDelete": {prune, "delete", "deleting"},
			"ReleaseGet": {release, "get", "reading"}, "ReleasePatch": {release, "patch", "releasing"},
		} {
			t.Run(call+name, func(t *testing.T) {
				t.Parallel()
				server := fakeapi.New(t, nil, settled(t))
				server.Fail(tc.verb, "Service", failure)
				err := tc.do(t, set(server))
				if name == "NotFound" {
					if err != nil {
						t.Errorf("it is gone, and yet: %v", err)
					}
					return
				}
				if !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), tc.want+" Service demo: ") {
					t.Errorf("the error is %v, want %s Service demo: %v", err, tc.want, failure)
				}
				if tc.verb == "get" && len(server.Writes()) != 0 {
					t.Errorf("after a failed read: %v", server.Writes())
				}
			})
		}
	}
}

func TestRemoveOfWhatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	server := fakeapi.New(t, nil, settled(t))
	server.Fail("delete", "Service", fakeapi.Errors()["NotFound"])
	if fate, err := set(server).Remove(t.Context(), theOwner().Object, empty()); fate != Gone || err != nil {
		t.Errorf("Remove() = %d, %v, want it to be gone", fate, err)
	}
}

// notKnown is a kind that no scheme knows.
type notKnown struct{ corev1.ConfigMap }

func TestDescribeWithoutScheme(t *testing.T) {
	t.Parallel()
	object := &notKnown{}
	object.SetName("demo")
	if got := Describe(fakeapi.New(t, nil), client.Object(object)); got != "notKnown demo" {
		t.Errorf("Describe() = %q", got)
	}
}
