package myapp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
)

const (
	hold         = "patch MyApp demo"
	applyService = "apply Service demo"
	applyDeploy  = "apply Deployment demo"
	applyBudget  = "apply PodDisruptionBudget demo"
	writeStatus  = "apply status MyApp demo"
)

// said are the conditions of a status in short.
func said(s appv1alpha1.MyAppStatus) []string {
	var all []string
	for _, c := range s.Conditions {
		all = append(all, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	return all
}

func expectWrites(t *testing.T, w *world, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	w.Forget()
}

// The life of a MyApp: one write for each thing that is new, and none for anything else.
func TestReconcileFromBeginningToEnd(t *testing.T) {
	t.Parallel()
	// The fake client adds resources to a Deployment that it applies for the second time; an API server does not.
	w := newWorld(t, sample(2, func(app *appv1alpha1.MyApp) { app.Spec.Resources = &corev1.ResourceRequirements{} }))
	expect := func(step string, wait bool, writes ...string) {
		t.Helper()
		result, err := w.reconcile(t)
		if err != nil || (result.RequeueAfter > 0) != wait {
			t.Fatalf("%s: Reconcile() = %v, %v", step, result, err)
		}
		expectWrites(t, w, writes...)
	}
	expect("created: nothing is said yet", true, hold, applyService, applyDeploy, applyBudget)
	expect("woken up by its own children", true)

	w.rollOut(t, 2)
	expect("rolled out", false, writeStatus)
	app := w.myapp(t)
	if diff := cmp.Diff([]string{"Ready=True ReplicasReady", "Progressing=False RolloutComplete", "Degraded=False AsExpected"}, said(app.Status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if app.Status.Phase != appv1alpha1.PhaseRunning || app.Status.ReadyReplicas != 2 {
		t.Errorf("the phase is %s with %d ready, want Running with 2", app.Status.Phase, app.Status.ReadyReplicas)
	}
	for range 10 { // controller-runtime#2733, #2831: settled means settled.
		expect("settled", false)
	}

	app.Spec.Replicas = new(int32(3))
	if err := w.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	expect("scaled up: what is there is not yet what has been asked for", true, applyDeploy)
	w.rollOut(t, 3)
	expect("rolled out", false, writeStatus)
	app = w.myapp(t)
	app.Spec.Replicas = new(int32(1))
	if err := w.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	expect("scaled down: below two, a budget would block every drain", false, applyDeploy, "delete PodDisruptionBudget demo", writeStatus)
	if told := w.told(); len(told) != 0 {
		t.Errorf("events, although nothing was wrong: %v", told)
	}
}

func TestReconcileSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sample(1, suspended))
	if _, err := w.reconcile(t); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, w, writeStatus)
	if diff := cmp.Diff([]string{"Ready=False DeploymentMissing", "Progressing=False Suspended", "Degraded=False AsExpected"}, said(w.myapp(t).Status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

// What is there is reported even while the operator leaves it alone.
func TestReconcileSuspendedReportsWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sample(1))
	if _, err := w.reconcile(t); err != nil {
		t.Fatal(err)
	}
	w.rollOut(t, 1)
	app := w.myapp(t)
	suspended(app)
	app.Spec.Replicas = new(int32(3))
	if err := w.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	w.Forget()
	if _, err := w.reconcile(t); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, w, writeStatus)
	if got := w.myapp(t).Status; got.ReadyReplicas != 1 || got.Replicas != 1 {
		t.Errorf("status %+v, want the one pod that is there", got)
	}
}

// mcp-lifecycle-operator#85: a name that somebody else holds is told, left alone, looked at again, and taken once it is free.
func TestReconcileConflict(t *testing.T) {
	t.Parallel()
	foreign := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: "foreign"}}
	w := newWorld(t, sample(1, held), foreign)
	for range 3 {
		result, err := w.reconcile(t)
		if err != nil || result.RequeueAfter != 10*time.Second {
			t.Fatalf("Reconcile() = %v, %v, want another look in a while", result, err)
		}
	}
	expectWrites(t, w, applyService, writeStatus)
	want := []string{"Ready=False SpecNotApplied", "Progressing=False RolloutStopped", "Degraded=True ResourceConflict"}
	if diff := cmp.Diff(want, said(w.myapp(t).Status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Warning ResourceConflict Deployment demo exists and was not made by the operator; delete or rename it"}, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	if err := w.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	w.Forget()
	if _, err := w.reconcile(t); err != nil {
		t.Fatal(err)
	}
	w.rollOut(t, 1)
	if _, err := w.reconcile(t); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, w, applyDeploy, writeStatus)
	if diff := cmp.Diff([]string{"Normal Recovered ResourceConflict has passed"}, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// What a failed write of each kind means: told or not, retried how.
func TestReconcileErrors(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		reason   string // Of Degraded; empty where nothing is said.
		after    time.Duration
		loud     bool
		terminal bool
	}{
		"Conflict": {after: time.Second}, "AlreadyExists": {after: time.Second}, "NamespaceTerminating": {}, // controller-runtime#1464
		"Invalid": {reason: workload.ReasonInvalidSpec, loud: true, terminal: true}, "Forbidden": {reason: workload.ReasonForbidden, loud: true},
		"InternalError": {loud: true}, "Timeout": {loud: true}, "NotFound": {loud: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := fakeapi.Errors()[name]
			w := newWorld(t, sample(1, held))
			w.Fail("apply", "Deployment", failure)
			result, err := w.reconcile(t)
			if (err != nil) != want.loud || errors.Is(err, reconcile.TerminalError(nil)) != want.terminal || result.RequeueAfter != want.after {
				t.Errorf("Reconcile() = %v, %v, want %+v", result, err, want)
			}
			degraded := ""
			for _, c := range w.myapp(t).Status.Conditions {
				if c.Type == workload.ConditionDegraded && c.Status == metav1.ConditionTrue {
					degraded = c.Reason
				}
			}
			if degraded != want.reason {
				t.Errorf("degraded because of %q, want %q", degraded, want.reason)
			}
		})
	}
}

// An error of a read, of the finalizer or of the status is returned, and nothing is said that was not seen.
func TestReconcileOtherErrors(t *testing.T) {
	t.Parallel()
	failure := fakeapi.Errors()["InternalError"]
	for name, tc := range map[string]struct {
		verb, kind string
		change     func(*appv1alpha1.MyApp)
	}{
		"Finalizer":         {"patch", "MyApp", func(*appv1alpha1.MyApp) {}},
		"ReadChild":         {"get", "Service", held},
		"ListPods":          {"list", "Pod", suspended},
		"FindDeployment":    {"get", "Deployment", suspended},
		"WriteStatus":       {"apply status", "MyApp", suspended},
		"TearDown":          {"get", "Service", ending},
		"TearDownFinalizer": {"patch", "MyApp", ending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sample(1, tc.change))
			w.Fail(tc.verb, tc.kind, failure)
			if _, err := w.reconcile(t); !errors.Is(err, failure) {
				t.Errorf("Reconcile() = %v, want %v", err, failure)
			}
			if got := w.myapp(t).Status; len(got.Conditions) != 0 {
				t.Errorf("it says %v", said(got))
			}
		})
	}
}

// Conflicts of the finalizer and the status are retried quietly; a MyApp that goes meanwhile is no error.
func TestReconcileQuietly(t *testing.T) {
	t.Parallel()
	for verb, change := range map[string]func(*appv1alpha1.MyApp){"patch": func(*appv1alpha1.MyApp) {}, "apply status": suspended} {
		for name, after := range map[string]time.Duration{"Conflict": time.Second, "NotFound": 0} {
			w := newWorld(t, sample(1, change))
			w.Fail(verb, "MyApp", fakeapi.Errors()[name])
			w.Fail("apply status", "MyApp", fakeapi.Errors()[name])
			result, err := w.reconcile(t)
			if err != nil || result.RequeueAfter != after || len(w.told()) != 0 {
				t.Errorf("%s of %s: Reconcile() = %v, %v", name, verb, result, err)
			}
			for _, write := range w.Writes() {
				if verb == "patch" && write != hold && write != writeStatus {
					t.Errorf("without its finalizer, %s", write)
				}
			}
		}
	}
}

// kpack#1820, image-automation-controller#564, datashim#341: once it is being deleted, nothing is created and no finalizer is added.
func TestReconcileDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sample(2))
	if _, err := w.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if err := w.Create(t.Context(), podOf("demo-abc-a")); err != nil {
		t.Fatal(err)
	}
	stranger := podOf("stranger") // Labelled like ours by somebody else, who may keep it for ever.
	stranger.Labels, stranger.OwnerReferences = selector(sample(2)), nil
	if err := w.Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), w.myapp(t)); err != nil {
		t.Fatal(err)
	}
	w.Forget()
	for _, step := range []struct {
		does  []string
		waits string
	}{
		{[]string{"delete Service demo", writeStatus}, "waiting for the deletion of Service demo"},
		{[]string{"delete Deployment demo", writeStatus}, "waiting for the deletion of Deployment demo"},
		{[]string{"delete PodDisruptionBudget demo", writeStatus}, "waiting for the deletion of PodDisruptionBudget demo"},
		{[]string{writeStatus}, "waiting for the end of pod demo-abc-a"},
	} {
		if _, err := w.reconcile(t); err != nil {
			t.Fatal(err)
		}
		expectWrites(t, w, step.does...)
		if phase := w.myapp(t).Status.Phase; phase != appv1alpha1.PhaseTerminating {
			t.Errorf("the phase is %s, want Terminating", phase)
		}
		if got := w.myapp(t).Status.Conditions[1]; got.Message != step.waits || got.Reason != workload.ReasonTerminating {
			t.Errorf("it says %s: %s, want %s", got.Reason, got.Message, step.waits)
		}
	}
	if err := w.Delete(t.Context(), podOf("demo-abc-a")); err != nil {
		t.Fatal(err)
	}
	w.Forget()
	if _, err := w.reconcile(t); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, w, hold)
	for _, object := range []client.Object{&appv1alpha1.MyApp{}, &corev1.Service{}, &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}} {
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "demo"}, object); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("the %T is still there: %v", object, err)
		}
	}
}

func TestReconcileDeletionOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sample(1, func(app *appv1alpha1.MyApp) { ending(app); app.Finalizers = []string{"other"} }))
	result, err := w.reconcile(t)
	if err != nil || result.RequeueAfter != 0 {
		t.Errorf("Reconcile() = %v, %v", result, err)
	}
	expectWrites(t, w)
}
