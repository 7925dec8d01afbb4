package myapp

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
	"github.com/example-inc/memcached-operator/internal/proxy"
)

// sample is a MyApp of so many replicas, as the API server has it, changed by change.
func sample(replicas int32, change ...func(*appv1alpha1.MyApp)) *appv1alpha1.MyApp {
	app := &appv1alpha1.MyApp{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: "owner", Generation: 1},
		Spec:       appv1alpha1.MyAppSpec{Image: "nginx:latest", Replicas: &replicas},
	}
	for _, f := range change {
		f(app)
	}
	return app
}

func held(app *appv1alpha1.MyApp) { app.Finalizers = []string{appv1alpha1.Finalizer} }

func ending(app *appv1alpha1.MyApp) {
	held(app)
	app.DeletionTimestamp = new(metav1.Now())
}

func suspended(app *appv1alpha1.MyApp) { app.Spec.Suspend = new(true) }

// world is an API server with the MyApp and what else is there, and a reconciler.
type world struct {
	*fakeapi.Server
	reconciler *Reconciler
	events     *events.FakeRecorder
}

func newWorld(t *testing.T, there ...client.Object) *world {
	t.Helper()
	server := fakeapi.New(t, []fakeapi.Index{{Field: podIndex, Extract: indexPod}}, there...)
	recorder := events.NewFakeRecorder(20)
	return &world{Server: server, events: recorder, reconciler: &Reconciler{
		Client: server, Live: server, Recorder: recorder, Proxy: []proxy.Setting{{Name: "NO_PROXY", Value: "n"}},
	}}
}

// reconcile reads the MyApp, as the controller does, and reconciles it.
func (w *world) reconcile(t *testing.T) (ctrl.Result, error) {
	t.Helper()
	return w.reconciler.Reconcile(t.Context(), w.myapp(t))
}

func (w *world) myapp(t *testing.T) *appv1alpha1.MyApp {
	t.Helper()
	app := &appv1alpha1.MyApp{}
	read(t, w.Server, app)
	return app
}

// read reads what is called demo into object.
func read(t *testing.T, reader client.Reader, object client.Object) {
	t.Helper()
	if err := reader.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "demo"}, object); err != nil {
		t.Fatal(err)
	}
}

// rollOut plays the Deployment's controller: count pods are there, up to date and ready.
func (w *world) rollOut(t *testing.T, count int32) {
	t.Helper()
	deploy := &appsv1.Deployment{}
	read(t, w.Server, deploy)
	deploy.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deploy.Generation, Replicas: count, UpdatedReplicas: count, ReadyReplicas: count, AvailableReplicas: count,
	}
	if err := w.Status().Update(t.Context(), deploy); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"demo-abc-a", "demo-abc-b", "demo-abc-c"}[:count] {
		if err := w.Create(t.Context(), podOf(name)); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}

// podOf is a ready pod of the Deployment.
func podOf(name string) *corev1.Pod {
	labels := identity(sample(1))
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = "abc"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "demo-abc", UID: "rs", Controller: new(true)},
		}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// told are the events since the last call.
func (w *world) told() []string {
	var all []string
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}
