package children

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/internal/fakeapi"
)

const ownerUID types.UID = "owner"

func ours() map[string]string { return map[string]string{"app": "demo", LabelManagedBy: ManagedBy} }

func theOwner() Owner {
	return Owner{
		Object: &appv1alpha1.MyApp{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns", UID: ownerUID}},
		Labels: ours(),
	}
}

// wanted is a Service.
func wanted() *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service("demo", "ns").
		WithLabels(ours()).
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion("app.example.com/v1alpha1").WithKind("MyApp").
			WithName("demo").WithUID(ownerUID).WithController(true)).
		WithSpec(corev1ac.ServiceSpec().WithPorts(corev1ac.ServicePort().WithName("http").WithPort(80)))
}

func child() Child { return New(&corev1.Service{}, wanted(), corev1ac.ExtractService) }

// settled is the Service as it is once it has been applied, changed by change.
func settled(t *testing.T, change ...func(*corev1.Service)) *corev1.Service {
	t.Helper()
	server := fakeapi.New(t, nil)
	if err := server.Apply(t.Context(), wanted(), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	service := get(t, server)
	service.UID = "service"
	for _, f := range change {
		f(service)
	}
	return service
}

// get is the Service as the server has it.
func get(t *testing.T, server *fakeapi.Server) *corev1.Service {
	t.Helper()
	service := &corev1.Service{}
	if err := server.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "demo"}, service); err != nil {
		t.Fatal(err)
	}
	return service
}

// empty is the Service but for its name.
func empty() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo"}}
}

// controlled gives a Service another controller.
func controlled(kind, name string) func(*corev1.Service) {
	return func(service *corev1.Service) {
		service.OwnerReferences = []metav1.OwnerReference{{APIVersion: "app.example.com/v1alpha1", Kind: kind, Name: name, UID: "2", Controller: new(true)}}
	}
}

func left(service *corev1.Service) { service.OwnerReferences = nil }

func foreign(service *corev1.Service) {
	service.OwnerReferences, service.Labels, service.ManagedFields = nil, nil, nil
}

// drifted is what another client has changed, taking the field over.
func drifted(service *corev1.Service) {
	service.ManagedFields = nil
	service.Spec.Ports[0].TargetPort.IntVal = 81
}

func deleted(service *corev1.Service) {
	service.DeletionTimestamp = new(metav1.Now())
	service.Finalizers = []string{metav1.FinalizerDeleteDependents}
}

// set reads from and writes to one server.
func set(server *fakeapi.Server) *Set { return &Set{Client: server, Live: server} }
