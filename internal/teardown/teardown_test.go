package teardown

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/internal/children"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
)

const finalizer = appv1alpha1.Finalizer

// ending is a MyApp that is being deleted, held back by the finalizers.
func ending(finalizers ...string) *appv1alpha1.MyApp {
	return &appv1alpha1.MyApp{ObjectMeta: metav1.ObjectMeta{
		Name: "demo", Namespace: "ns", UID: "owner", ResourceVersion: "7", Finalizers: finalizers, DeletionTimestamp: new(metav1.Now()),
	}}
}

// metaOf is the metadata of a child of the owner with the UID.
func metaOf(owner types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "demo", Namespace: "ns", UID: "child",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "app.example.com/v1alpha1", Kind: "MyApp", Name: "demo", UID: owner, Controller: new(true)}},
	}
}

func service() *corev1.Service { return &corev1.Service{ObjectMeta: metaOf("owner")} }

func deployment() *appsv1.Deployment { return &appsv1.Deployment{ObjectMeta: metaOf("owner")} }

func pod(name, namespace string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}}
}

var ourPods = map[string]string{"app": "demo"}

func plan(policy workload.DeletionPolicy) Plan {
	name := metav1.ObjectMeta{Name: "demo", Namespace: "ns"}
	return Plan{
		Finalizer: finalizer, Policy: policy, Pods: ourPods,
		Children: []client.Object{&corev1.Service{ObjectMeta: name}, &appsv1.Deployment{ObjectMeta: name}},
	}
}

func run(t *testing.T, server *fakeapi.Server, owner *appv1alpha1.MyApp, policy workload.DeletionPolicy) (string, error) {
	t.Helper()
	return Run(t.Context(), &children.Set{Client: server, Live: server}, owner, plan(policy))
}

// goes gives a child another finalizer, so that a delete does not end it at once.
func goes[T client.Object](object T) T {
	object.SetFinalizers([]string{metav1.FinalizerDeleteDependents})
	return object
}

func gone[T client.Object](object T) T {
	object = goes(object)
	object.SetDeletionTimestamp(new(metav1.Now()))
	return object
}

func TestRun(t *testing.T) {
	t.Parallel()
	const releasing = "patch MyApp demo"
	foreign := service()
	foreign.OwnerReferences[0].UID = "2"
	for name, tc := range map[string]struct {
		reason  string
		owner   *appv1alpha1.MyApp
		policy  workload.DeletionPolicy
		there   []client.Object
		waiting string
		writes  []string
	}{
		"NotHeld":       {reason: "whoever is not held back by us is none of our business", owner: ending("other"), there: []client.Object{service(), deployment()}},
		"Nothing":       {reason: "datashim#341: deleted before anything was created", owner: ending(finalizer), writes: []string{releasing}},
		"First":         {reason: "one after the other", owner: ending(finalizer), there: []client.Object{goes(service()), goes(deployment())}, waiting: "the deletion of Service demo", writes: []string{"delete Service demo"}},
		"FirstGoes":     {reason: "the second waits for the first", owner: ending(finalizer), there: []client.Object{gone(service()), goes(deployment())}, waiting: "the deletion of Service demo"},
		"Second":        {reason: "the first has gone", owner: ending(finalizer), there: []client.Object{goes(deployment())}, waiting: "the deletion of Deployment demo", writes: []string{"delete Deployment demo"}},
		"ForeignStays":  {reason: "what belongs to somebody else is left alone, and not waited for", owner: ending(finalizer), there: []client.Object{foreign, gone(deployment())}, waiting: "the deletion of Deployment demo"},
		"ForeignAlone":  {reason: "the pods may be those of what lives on", owner: ending(finalizer), there: []client.Object{foreign, pod("a", "ns", ourPods)}, writes: []string{releasing}},
		"Pods":          {reason: "a namesake must not meet them", owner: ending(finalizer), there: []client.Object{pod("a", "ns", ourPods)}, waiting: "the end of pod a"},
		"OthersPods":    {reason: "others' pods and other namespaces' do not matter", owner: ending(finalizer), there: []client.Object{pod("a", "ns", nil), pod("b", "else", ourPods)}, writes: []string{releasing}},
		"DeletePolicy":  {reason: "the default by its name", policy: workload.DeletionPolicyDelete, owner: ending(finalizer), writes: []string{releasing}},
		"Orphan":        {reason: "everything runs on", policy: workload.DeletionPolicyOrphan, owner: ending(finalizer), there: []client.Object{service(), deployment(), pod("a", "ns", ourPods)}, writes: []string{"patch Service demo", "patch Deployment demo", releasing}},
		"CascadeOrphan": {reason: "kubectl delete --cascade=orphan asks for the same", owner: ending(finalizer, metav1.FinalizerOrphanDependents), there: []client.Object{service(), pod("a", "ns", ourPods)}, writes: []string{"patch Service demo", releasing}},
		"OrphanForeign": {reason: "what is not ours cannot be given up", policy: workload.DeletionPolicyOrphan, owner: ending(finalizer), there: []client.Object{foreign}, writes: []string{releasing}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New(t, nil, append(tc.there, tc.owner)...)
			waiting, err := run(t, server, tc.owner, tc.policy)
			if err != nil || waiting != tc.waiting {
				t.Errorf("%s: Run() = %q, %v, want %q", tc.reason, waiting, err, tc.waiting)
			}
			if diff := cmp.Diff(tc.writes, server.Writes()); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What is orphaned is as it was, without its owner.
func TestRunOrphans(t *testing.T) {
	t.Parallel()
	owner := ending(finalizer)
	server := fakeapi.New(t, nil, owner, service(), deployment())
	if _, err := run(t, server, owner, workload.DeletionPolicyOrphan); err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{&corev1.Service{}, &appsv1.Deployment{}} {
		if err := server.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "demo"}, object); err != nil {
			t.Fatal(err)
		}
		if len(object.GetOwnerReferences()) != 0 || object.GetDeletionTimestamp() != nil {
			t.Errorf("the %T has owners %v and ends at %v", object, object.GetOwnerReferences(), object.GetDeletionTimestamp())
		}
	}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(owner), &appv1alpha1.MyApp{}); !apierrors.IsNotFound(err) {
		t.Errorf("the owner is still there: %v", err)
	}
}

// The whole way down, step by step, as the events lead it.
func TestRunFromBeginningToEnd(t *testing.T) {
	t.Parallel()
	owner := ending(finalizer, "other")
	server := fakeapi.New(t, nil, owner, service(), deployment(), pod("a", "ns", ourPods))
	var seen []string
	for range 10 {
		waiting, err := run(t, server, owner, workload.DeletionPolicyDelete)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, waiting)
		if waiting == "" {
			break
		}
		if waiting == "the end of pod a" {
			if err := server.Delete(t.Context(), pod("a", "ns", nil)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{"the deletion of Service demo", "the deletion of Deployment demo", "the end of pod a", ""}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"other"}, owner.Finalizers); diff != "" {
		t.Errorf("the finalizers of others (-want +got):\n%s", diff)
	}
}

func TestRunErrors(t *testing.T) {
	t.Parallel()
	for name, failure := range fakeapi.Errors() {
		for at, tc := range map[string]struct {
			verb, kind string
			policy     workload.DeletionPolicy
			text       string
		}{
			"Remove":        {"get", "Service", workload.DeletionPolicyDelete, "reading Service demo: "},
			"Release":       {"get", "Service", workload.DeletionPolicyOrphan, "reading Service demo: "},
			"Pods":          {"list", "Pod", workload.DeletionPolicyDelete, "listing pods: "},
			"Finalizer":     {"patch", "MyApp", workload.DeletionPolicyDelete, "changing the finalizers of MyApp demo: "},
			"OrphanRelease": {"patch", "MyApp", workload.DeletionPolicyOrphan, "changing the finalizers of MyApp demo: "},
		} {
			t.Run(at+name, func(t *testing.T) {
				t.Parallel()
				owner := ending(finalizer)
				server := fakeapi.New(t, nil, owner)
				server.Fail(tc.verb, tc.kind, failure)
				waiting, err := run(t, server, owner, tc.policy)
				if name == "NotFound" && tc.verb != "list" {
					if err != nil {
						t.Errorf("it is gone, and yet: %v", err)
					}
					return
				}
				if waiting != "" || !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), tc.text) {
					t.Errorf("Run() = %q, %v, want %s%v", waiting, err, tc.text, failure)
				}
				if tc.verb != "patch" && len(server.Writes()) != 0 {
					t.Errorf("after a failed read: %v", server.Writes())
				}
			})
		}
	}
}

// A cache that has lost sight of a child or a pod does not let the owner go.
func TestRunAsksTheAPIServer(t *testing.T) {
	t.Parallel()
	owner := ending(finalizer)
	for want, object := range map[string]client.Object{"the deletion of Deployment demo": goes(deployment()), "the end of pod a": pod("a", "ns", ourPods)} {
		server := fakeapi.New(t, nil, owner, object)
		set := &children.Set{Client: server.Behind(fakeapi.New(t, nil)), Live: server}
		if waiting, err := Run(t.Context(), set, owner, plan("")); waiting != want || err != nil {
			t.Errorf("Run() = %q, %v, want %q", waiting, err, want)
		}
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	alive := func(finalizers ...string) *appv1alpha1.MyApp {
		owner := ending(finalizers...)
		owner.DeletionTimestamp = nil
		return owner
	}
	owner := alive("other")
	server := fakeapi.New(t, nil, owner)
	if err := Hold(t.Context(), server, owner, finalizer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"other", finalizer}, owner.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if body := server.Find(t, "patch MyApp demo").Body; !strings.Contains(body, `"resourceVersion":"7"`) {
		t.Errorf("the patch does not say which version it changes, so that it may undo what others do: %s", body)
	}

	server.Forget()
	if err := Hold(t.Context(), server, owner, finalizer); err != nil || len(server.Requests()) != 0 {
		t.Errorf("Hold() again = %v, requests %v, want none", err, server.Requests())
	}

	for name, failure := range fakeapi.Errors() {
		server.Fail("patch", "MyApp", failure)
		if err := Hold(t.Context(), server, alive(), finalizer); !errors.Is(err, failure) {
			t.Errorf("%s: Hold() = %v", name, err)
		}
	}
}

// Two writers: the one that was overtaken gets a conflict, and nobody's finalizer is lost.
func TestHoldIsOvertaken(t *testing.T) {
	t.Parallel()
	server := fakeapi.New(t, nil, &appv1alpha1.MyApp{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", ResourceVersion: "8", Finalizers: []string{"theirs"}}})
	stale := &appv1alpha1.MyApp{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", ResourceVersion: "7"}}
	if err := Hold(t.Context(), server, stale, finalizer); !apierrors.IsConflict(err) {
		t.Errorf("Hold() = %v, want a conflict", err)
	}
}
