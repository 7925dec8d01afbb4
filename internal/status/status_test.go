package status

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	appv1alpha1ac "github.com/example-inc/memcached-operator/api/app/v1alpha1/applyconfiguration/app/v1alpha1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/conditions"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
)

const writing = "apply status MyApp demo"

type Status = appv1alpha1.MyAppStatus

var kind = Kind[*appv1alpha1.MyApp, Status]{
	New:                func() *appv1alpha1.MyApp { return &appv1alpha1.MyApp{} },
	Of:                 func(app *appv1alpha1.MyApp) *Status { return &app.Status },
	Conditions:         func(s *Status) []metav1.Condition { return s.Conditions },
	ObservedGeneration: func(s *Status) int64 { return s.ObservedGeneration },
	Apply: func(app *appv1alpha1.MyApp, s Status) (runtime.ApplyConfiguration, error) {
		ac := appv1alpha1ac.MyAppStatus()
		err := Configure(s, ac)
		return appv1alpha1ac.MyApp(app.Name, app.Namespace).WithUID(app.UID).WithStatus(ac), err
	},
}

// app is a MyApp of generation 3 with the given status.
func app(s Status) *appv1alpha1.MyApp {
	return &appv1alpha1.MyApp{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: "1", Generation: 3}, Status: s}
}

func write(t *testing.T, cached, live *fakeapi.Server, object *appv1alpha1.MyApp, say func(Status) Status) ([]string, error) {
	t.Helper()
	recorder := events.NewFakeRecorder(10)
	w := Writer[*appv1alpha1.MyApp, Status]{Kind: kind, Client: live.Behind(cached), Live: live, Recorder: recorder}
	err := w.Write(t.Context(), object, say)
	close(recorder.Events)
	var told []string
	for event := range recorder.Events {
		told = append(told, event)
	}
	return told, err
}

// two says that there are two replicas.
func two(s Status) Status {
	s.Replicas, s.ObservedGeneration = 2, 3
	return s
}

func TestWrite(t *testing.T) {
	t.Parallel()
	said := two(Status{})
	later := Status{ObservedGeneration: 4, Replicas: 1}
	namesake := app(Status{})
	namesake.UID = "2"
	for name, tc := range map[string]struct {
		reason       string
		cached, live *appv1alpha1.MyApp
		writes       []string
		reads        int
	}{
		"New":       {reason: "there is something to say", cached: app(Status{}), live: app(Status{}), writes: []string{writing}, reads: 1},
		"Same":      {reason: "controller-runtime#2831: it has been said, so that not even the API server is asked", cached: app(said), live: app(said)},
		"Stale":     {reason: "it has been said, and the cache does not know", cached: app(Status{}), live: app(said), reads: 1},
		"Gone":      {reason: "nobody is left to say it of", cached: app(Status{}), reads: 1},
		"Namesake":  {reason: "knative/serving#7556: what has been seen is of another", cached: app(Status{}), live: namesake, reads: 1},
		"Overtaken": {reason: "a later spec has been reported on, by another manager perhaps", cached: app(Status{}), live: app(later), reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil)
			if tc.live != nil {
				server = fakeapi.New(t, nil, tc.live)
			}
			if _, err := write(t, fakeapi.New(t, nil, tc.cached), server, tc.cached, two); err != nil {
				t.Fatalf("%s: Write() = %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.writes, server.Writes()); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", tc.reason, diff)
			}
			if reads := len(server.Requests()) - len(server.Writes()); reads != tc.reads {
				t.Errorf("%s: %d reads, want %d", tc.reason, reads, tc.reads)
			}
		})
	}
}

// What is written builds on what the API server has, not on the cache, and names the resource by its UID.
func TestWriteBuildsOnTheLiveStatus(t *testing.T) {
	t.Parallel()
	live := fakeapi.New(t, nil, app(Status{Selector: "live"}))
	cached := app(Status{Selector: "cached"})
	if _, err := write(t, fakeapi.New(t, nil, cached), live, cached, two); err != nil {
		t.Fatal(err)
	}
	got := &appv1alpha1.MyApp{}
	if err := live.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "demo"}, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Status{Selector: "live", Replicas: 2, ObservedGeneration: 3}, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if request := live.Find(t, writing); !strings.Contains(request.Body, `"uid":"1"`) || !request.Force {
		t.Errorf("the apply is not pinned to the UID, or not forced: %+v", request)
	}
}

// operator-sdk#3968: the errors of a write say what was being done, and a resource that has gone is no error.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	for name, failure := range fakeapi.Errors() {
		for verb, text := range map[string]string{"get": "reading the present status: ", "apply status": "applying the status: "} {
			t.Run(verb+name, func(t *testing.T) {
				t.Parallel()
				server := fakeapi.New(t, nil, app(Status{}))
				server.Fail(verb, "MyApp", failure)
				told, err := write(t, server, server, app(Status{}), degraded(workload.ReasonForbidden, ""))
				if len(told) != 0 {
					t.Errorf("an event of what was not written: %v", told)
				}
				if name == "NotFound" {
					if err != nil {
						t.Errorf("it is gone, and yet: %v", err)
					}
					return
				}
				if !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), text) {
					t.Errorf("Write() = %v, want %s%v", err, text, failure)
				}
			})
		}
	}
}

func TestWriteOfWhatCannotBeConfigured(t *testing.T) {
	t.Parallel()
	server := fakeapi.New(t, nil, app(Status{}))
	broken := kind
	broken.Apply = func(*appv1alpha1.MyApp, Status) (runtime.ApplyConfiguration, error) { return nil, context.Canceled }
	w := Writer[*appv1alpha1.MyApp, Status]{Kind: broken, Client: server, Live: server, Recorder: events.NewFakeRecorder(1)}
	if err := w.Write(t.Context(), app(Status{}), two); !errors.Is(err, context.Canceled) || len(server.Writes()) != 0 {
		t.Errorf("Write() = %v, writes %v", err, server.Writes())
	}
}

func degraded(reason, message string) func(Status) Status {
	return func(s Status) Status {
		c := conditions.True(workload.ConditionDegraded, reason, message)
		if reason == workload.ReasonAsExpected {
			c = conditions.False(workload.ConditionDegraded, reason, "")
		}
		s.Conditions = conditions.Next(s.Conditions, 3, c)
		return s
	}
}

// tigera/operator#107: an event tells of trouble and of its end, and of nothing else.
func TestEvents(t *testing.T) {
	t.Parallel()
	const fine, crash, image = workload.ReasonAsExpected, workload.ReasonCrashLoopBackOff, workload.ReasonImagePullBackOff
	before := func(reason string) Status { return degraded(reason, "pod a")(Status{}) }
	for name, tc := range map[string]struct {
		reason string
		was    Status
		say    func(Status) Status
		want   []string
	}{
		"FirstTrouble": {reason: "nothing was known", say: degraded(crash, "pod a"), want: []string{"Warning CrashLoopBackOff pod a"}},
		"FirstWell":    {reason: "that nothing is wrong is no news", say: degraded(fine, "")},
		"Trouble":      {reason: "it was well", was: before(fine), say: degraded(crash, "pod a"), want: []string{"Warning CrashLoopBackOff pod a"}},
		"OtherTrouble": {reason: "a reason of its own", was: before(image), say: degraded(crash, "pod a"), want: []string{"Warning CrashLoopBackOff pod a"}},
		"SameTrouble":  {reason: "another pod, the same trouble", was: before(crash), say: degraded(crash, "pod b")},
		"Recovered":    {reason: "it has passed", was: before(crash), say: degraded(fine, ""), want: []string{"Normal Recovered CrashLoopBackOff has passed"}},
		"StillWell":    {reason: "something else has changed", was: before(fine), say: two},
		"StillBad":     {reason: "something else has changed", was: before(crash), say: two},
		"NoCondition":  {reason: "nothing is said of it", say: two},
		"Percent":      {reason: "a message is no format", say: degraded(crash, "100%s"), want: []string{"Warning CrashLoopBackOff 100%s"}},
		"Long": {
			reason: "the API server refuses notes of more than 1024 bytes", say: degraded(crash, strings.Repeat("x", 2000)),
			want: []string{"Warning CrashLoopBackOff " + strings.Repeat("x", 1021) + "…"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, app(tc.was))
			got, err := write(t, server, server, app(tc.was), tc.say)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: events (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConfigureErrors(t *testing.T) {
	t.Parallel()
	if err := Configure(make(chan int), &struct{}{}); err == nil || !strings.HasPrefix(err.Error(), "encoding the status: ") {
		t.Errorf("Configure() of a channel = %v", err)
	}
	if err := Configure("text", &struct{}{}); err == nil || !strings.HasPrefix(err.Error(), "decoding the status: ") {
		t.Errorf("Configure() of a text = %v", err)
	}
}
