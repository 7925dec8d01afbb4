package children

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
)

// notSent is what an answer to an apply does not carry.
var notSent = cmp.FilterPath(func(p cmp.Path) bool {
	return slices.Contains([]string{"TypeMeta", "ObjectMeta.ManagedFields"}, p.String())
}, cmp.Ignore())

const applying = "apply Service demo"

// TestApply covers what is there, and what is written because of it.
func TestApply(t *testing.T) {
	t.Parallel()
	conflict := func(owner string) error { return &ConflictError{Object: "Service demo", Owner: owner} }
	for name, tc := range map[string]struct {
		reason string
		there  []client.Object
		want   error
		writes []string
	}{
		"Absent":  {reason: "it is created", writes: []string{applying}},
		"Settled": {reason: "kserve#2488, mortise#124: what is as it should be is left alone", there: []client.Object{settled(t)}},
		"Labelled": {
			reason: "a field of somebody else is none of ours",
			there:  []client.Object{settled(t, func(s *corev1.Service) { s.Labels["team"] = "a"; s.Spec.SessionAffinity = "ClientIP" })},
		},
		"Drifted":      {reason: "what another has changed is changed back", there: []client.Object{settled(t, drifted)}, writes: []string{applying}},
		"LeftBehind":   {reason: "an orphan of an earlier namesake is taken over", there: []client.Object{settled(t, left)}, writes: []string{applying}},
		"Foreign":      {reason: "mcp-lifecycle-operator#85: not made by us", there: []client.Object{settled(t, foreign)}, want: conflict("")},
		"OfOtherOwner": {reason: "mcp-lifecycle-operator#85: another resource's", there: []client.Object{settled(t, controlled("MyApp", "other"))}, want: conflict("MyApp other")},
		"OfOtherKind":  {reason: "the name is the same, the kind is not", there: []client.Object{settled(t, controlled("Memcached", "demo"))}, want: conflict("Memcached demo")},
		"OfNamesake":   {reason: "knative/serving#7556: it goes with its deleted owner", there: []client.Object{settled(t, controlled("MyApp", "demo"))}, want: ErrTerminating},
		"Terminating":  {reason: "it has to go first", there: []client.Object{settled(t, deleted)}, want: ErrTerminating},
		"LeftAndGoing": {reason: "an orphan on its way out is not taken over", there: []client.Object{settled(t, left, deleted)}, want: ErrTerminating},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, append(tc.there, theOwner().Object)...)
			object, err := set(server).Apply(t.Context(), theOwner(), child())
			if diff := cmp.Diff(tc.writes, server.Writes()); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", tc.reason, diff)
			}
			if tc.want != nil {
				var wantConflict, gotConflict *ConflictError
				if errors.As(tc.want, &wantConflict) {
					if !errors.As(err, &gotConflict) || *gotConflict != *wantConflict {
						t.Errorf("%s: Apply() = %v, want %v", tc.reason, err, tc.want)
					}
				} else if !errors.Is(err, tc.want) {
					t.Errorf("%s: Apply() = %v, want %v", tc.reason, err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: Apply() = %v", tc.reason, err)
			}
			if diff := cmp.Diff(client.Object(get(t, server)), object, notSent); diff != "" {
				t.Errorf("%s: what is returned is not what is there (-there +returned):\n%s", tc.reason, diff)
			}
			if owner := get(t, server).OwnerReferences; len(owner) != 1 || owner[0].UID != ownerUID {
				t.Errorf("%s: the owners are %v", tc.reason, owner)
			}
		})
	}
}

// Without the time of the apply, what is seen right after it would be taken for its outcome.
func TestApplyTellsWhenItWas(t *testing.T) {
	t.Parallel()
	before := time.Now()
	object, err := set(fakeapi.New(t, nil)).Apply(t.Context(), theOwner(), child())
	if err != nil {
		t.Fatal(err)
	}
	fields := object.GetManagedFields()
	if len(fields) != 1 || fields[0].Manager != string(FieldOwner) || fields[0].Operation != metav1.ManagedFieldsOperationApply || fields[0].Time.Time.Before(before) {
		t.Errorf("the managed fields after an apply are %v", fields)
	}
}

func TestApplyPinsTheUID(t *testing.T) {
	t.Parallel()
	server := fakeapi.New(t, nil, settled(t, drifted))
	if _, err := set(server).Apply(t.Context(), theOwner(), child()); err != nil {
		t.Fatal(err)
	}
	request := server.Find(t, applying)
	if !strings.Contains(request.Body, `"uid":"service"`) || !request.Force {
		t.Errorf("the apply does not name the object that was looked at, or does not take its fields: %+v", request)
	}

	server = fakeapi.New(t, nil)
	if _, err := set(server).Apply(t.Context(), theOwner(), child()); err != nil {
		t.Fatal(err)
	}
	if request := server.Find(t, applying); strings.Contains(request.Body, `"metadata":{"uid"`) {
		t.Errorf("an object that is not there cannot have a UID: %s", request.Body)
	}
}

// controller-runtime#1464, #343, kubebuilder#1381: a cache that is behind costs a read, never a second write.
func TestApplyWithAStaleCache(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason       string
		cached, live []client.Object
		writes       []string
		conflict     bool
	}{
		"NotYetCached":    {reason: "it has been applied, the cache does not know", live: []client.Object{settled(t)}},
		"OldInTheCache":   {reason: "it has been changed back, the cache does not know", cached: []client.Object{settled(t, drifted)}, live: []client.Object{settled(t)}},
		"NamesakeCached":  {reason: "the old one has gone, the cache does not know", cached: []client.Object{settled(t, controlled("MyApp", "demo"))}, live: []client.Object{settled(t)}},
		"ForeignCached":   {reason: "the name has been freed, the cache does not know", cached: []client.Object{settled(t, foreign)}, writes: []string{applying}},
		"DeletedForReal":  {reason: "it has been deleted, the cache holds an old one", cached: []client.Object{settled(t, drifted)}, writes: []string{applying}},
		"ForeignForReal":  {reason: "somebody else has taken the name: not adopted", cached: []client.Object{settled(t, left)}, live: []client.Object{settled(t, foreign)}, conflict: true},
		"ForeignUncached": {reason: "objects without our label are never in the cache", live: []client.Object{settled(t, foreign)}, conflict: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, tc.live...)
			s := &Set{Client: server.Behind(fakeapi.New(t, nil, tc.cached...)), Live: server}
			_, err := s.Apply(t.Context(), theOwner(), child())
			if diff := cmp.Diff(tc.writes, server.Writes()); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", tc.reason, diff)
			}
			if conflict := (*ConflictError)(nil); errors.As(err, &conflict) != tc.conflict || (err != nil) != tc.conflict {
				t.Errorf("%s: Apply() = %v", tc.reason, err)
			}
			if len(tc.writes) > 0 && strings.Contains(server.Find(t, applying).Body, `"uid":"service"`) {
				t.Errorf("%s: the apply names the UID of an object that is gone", tc.reason)
			}
		})
	}
}

// A foreign object that comes between the read and the first apply must not be taken over.
func TestApplyForcesNothingThatWasNotThere(t *testing.T) {
	t.Parallel()
	server, before := fakeapi.New(t, nil), fakeapi.New(t, nil)
	there := empty()
	there.Spec.Ports = []corev1.ServicePort{{Port: 80, Name: "theirs"}}
	if err := server.Create(t.Context(), there, client.FieldOwner("them")); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Set{Client: server.Behind(before), Live: before}).Apply(t.Context(), theOwner(), child()); !apierrors.IsConflict(err) {
		t.Errorf("Apply() = %v, want a conflict", err)
	}
	if diff := cmp.Diff(there.Spec, get(t, server).Spec); diff != "" {
		t.Errorf("the foreign Service has changed (-before +after):\n%s", diff)
	}
}

// kubectl delete --cascade=orphan takes the owner from the children first. A cache that does not know of the deletion
// would have the operator take them back, and they would end with their owner.
func TestApplyAdoptsForALivingOwnerOnly(t *testing.T) {
	t.Parallel()
	owner := func(change func(*metav1.ObjectMeta)) client.Object {
		app := theOwner().Object.(*appv1alpha1.MyApp)
		change(&app.ObjectMeta)
		return app
	}
	for name, there := range map[string][]client.Object{
		"Gone":     {settled(t, left)},
		"Namesake": {settled(t, left), owner(func(m *metav1.ObjectMeta) { m.UID = "later" })},
		"Deleted": {settled(t, left), owner(func(m *metav1.ObjectMeta) {
			m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), []string{appv1alpha1.Finalizer}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, there...)
			_, err := set(server).Apply(t.Context(), theOwner(), child())
			if !errors.Is(err, errOwnerGone) || len(server.Writes()) != 0 {
				t.Errorf("Apply() = %v, writes %v", err, server.Writes())
			}
			if got := Judge(err); got.RequeueAfter != catchUp || got.Err != nil || got.Refused != nil {
				t.Errorf("it is not a quiet retry: %+v", got)
			}
		})
	}
	server := fakeapi.New(t, nil, settled(t, left))
	server.Fail("get", "MyApp", context.DeadlineExceeded)
	if _, err := set(server).Apply(t.Context(), theOwner(), child()); !errors.Is(err, context.DeadlineExceeded) || len(server.Writes()) != 0 {
		t.Errorf("Apply() = %v, writes %v, want the failure of the read", err, server.Writes())
	}
}

// A settled child costs one read of the cache, and none of the API server.
func TestApplyAsksTheAPIServerOnlyInDoubt(t *testing.T) {
	t.Parallel()
	live, cached := fakeapi.New(t, nil, settled(t)), fakeapi.New(t, nil, settled(t))
	if _, err := (&Set{Client: live.Behind(cached), Live: live}).Apply(t.Context(), theOwner(), child()); err != nil {
		t.Fatal(err)
	}
	if got := live.Requests(); len(got) != 0 {
		t.Errorf("the API server was asked: %v", got)
	}
}

// A read error is never taken for absence, and each error says what was being done.
func TestApplyErrors(t *testing.T) {
	t.Parallel()
	for name, failure := range fakeapi.Errors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil)
			server.Fail("apply", "Service", failure)
			if object, err := set(server).Apply(t.Context(), theOwner(), child()); !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), "applying Service demo: ") || object != nil {
				t.Errorf("a failed apply returns %v, %v", object, err)
			}
			if name == "NotFound" {
				return
			}
			for read, s := range map[string]func(*fakeapi.Server) *Set{
				"cache": set,
				"live": func(server *fakeapi.Server) *Set {
					return &Set{Client: server.Behind(fakeapi.New(t, nil)), Live: server}
				},
			} {
				server := fakeapi.New(t, nil)
				server.Fail("get", "Service", failure)
				_, err := s(server).Apply(t.Context(), theOwner(), child())
				if !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), "reading Service demo: ") || len(server.Writes()) != 0 {
					t.Errorf("after a failed read of the %s: %v, writes %v", read, err, server.Writes())
				}
			}
		})
	}
}

func TestApplyWithoutExtract(t *testing.T) {
	t.Parallel()
	failure := errors.New("no such version")
	server := fakeapi.New(t, nil, settled(t))
	broken := New(&corev1.Service{}, wanted(), func(*corev1.Service, string) (*corev1ac.ServiceApplyConfiguration, error) { return nil, failure })
	_, err := set(server).Apply(t.Context(), theOwner(), broken)
	if !errors.Is(err, failure) || len(server.Writes()) != 0 {
		t.Errorf("Apply() = %v, writes %v", err, server.Writes())
	}
}

type answer struct{ data string }

func (answer) IsApplyConfiguration() {}

func (a answer) MarshalJSON() ([]byte, error) {
	if a.data == "" {
		return nil, errors.New("nothing to encode")
	}
	return []byte(a.data), nil
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{"": "encoding the answer", `"text"`: "decoding the answer"} {
		if err := decode(answer{data}, empty()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("decode(%q) = %v, want %s…", data, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		there []client.Object
		want  bool
	}{
		"Absent":   {},
		"Ours":     {there: []client.Object{settled(t)}, want: true},
		"Foreign":  {there: []client.Object{settled(t, foreign)}},
		"Left":     {there: []client.Object{settled(t, left)}},
		"Namesake": {there: []client.Object{settled(t, controlled("MyApp", "demo"))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, tc.there...)
			if found, err := set(server).Find(t.Context(), theOwner().Object, empty()); found != tc.want || err != nil {
				t.Errorf("Find() = %t, %v, want %t", found, err, tc.want)
			}
		})
	}
	server := fakeapi.New(t, nil, settled(t))
	server.Fail("get", "Service", context.DeadlineExceeded)
	if found, err := set(server).Find(t.Context(), theOwner().Object, empty()); found || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Find() = %t, %v, want the failure of the read", found, err)
	}
}
