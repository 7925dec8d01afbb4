package suite

import (
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/controllers/memcached"
	"github.com/example-inc/memcached-operator/controllers/myapp"
	"github.com/example-inc/memcached-operator/test/fixtures"
)

// Kind lets one spec speak of both kinds: what they have in common, under the names that each gives it.
type Kind struct {
	// Name is the kind's name and Resource its plural.
	Name, Resource string
	// Controller is the name of its controller.
	Controller string
	// Serving is the condition by which it says that it serves.
	Serving string
	// Finalizer holds it back.
	Finalizer string
	// Selector is what the pods of one are selected by.
	Selector func(name string) map[string]string
	// Empty is one without anything, and List is a list of them.
	Empty func() client.Object
	List  func() client.ObjectList

	// The fields of the spec that both have, to be read and changed.
	Replicas       func(client.Object) **int32
	Image          func(client.Object) *string
	Suspend        func(client.Object) **bool
	DeletionPolicy func(client.Object) *workload.DeletionPolicy
	PodTemplate    func(client.Object) **workload.PodTemplate
	// Status is the part of the status that both have.
	Status func(client.Object) Status

	// vary gives the kind's own fields values that seed chooses.
	vary   func(client.Object, *rand.Rand)
	sample func() client.Object
}

// Status is what the statuses of both kinds have.
type Status struct {
	ObservedGeneration      int64
	Replicas, ReadyReplicas int32
	Selector                string
	Conditions              []metav1.Condition
}

// New is the sample, of 3 replicas, changed by mutate, under a name of its own.
func (k *Kind) New(namespace string, mutate ...func(client.Object)) client.Object {
	object := k.sample()
	object.SetName("")
	object.SetGenerateName(k.Controller + "-")
	object.SetNamespace(namespace)
	for _, change := range mutate {
		change(object)
	}
	return object
}

// Named is an empty one with the name of object.
func (k *Kind) Named(object client.Object) client.Object {
	named := k.Empty()
	named.SetName(object.GetName())
	named.SetNamespace(object.GetNamespace())
	return named
}

// Memcached is the kind Memcached.
var Memcached = &Kind{
	Name: "Memcached", Resource: "memcacheds", Controller: memcached.Name,
	Serving: cachev1.ConditionAvailable, Finalizer: cachev1.Finalizer,
	Selector: func(name string) map[string]string {
		return map[string]string{"app": "memcached", "memcached_cr": name}
	},
	Empty: func() client.Object { return &cachev1.Memcached{} },
	List:  func() client.ObjectList { return &cachev1.MemcachedList{} },

	Replicas:       func(o client.Object) **int32 { return &o.(*cachev1.Memcached).Spec.Size },
	Image:          func(o client.Object) *string { return &o.(*cachev1.Memcached).Spec.Image },
	Suspend:        func(o client.Object) **bool { return &o.(*cachev1.Memcached).Spec.Suspend },
	DeletionPolicy: func(o client.Object) *workload.DeletionPolicy { return &o.(*cachev1.Memcached).Spec.DeletionPolicy },
	PodTemplate:    func(o client.Object) **workload.PodTemplate { return &o.(*cachev1.Memcached).Spec.PodTemplate },
	Status: func(o client.Object) Status {
		s := o.(*cachev1.Memcached).Status
		return Status{s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.Selector, s.Conditions}
	},
	vary:   func(o client.Object, r *rand.Rand) { varyMemcached(o.(*cachev1.Memcached), r) },
	sample: func() client.Object { return fixtures.Memcached() },
}

// MyApp is the kind MyApp.
var MyApp = &Kind{
	Name: "MyApp", Resource: "myapps", Controller: myapp.Name,
	Serving: appv1alpha1.ConditionReady, Finalizer: appv1alpha1.Finalizer,
	Selector: func(name string) map[string]string {
		return map[string]string{"app.kubernetes.io/name": "myapp", "app.kubernetes.io/instance": name}
	},
	Empty: func() client.Object { return &appv1alpha1.MyApp{} },
	List:  func() client.ObjectList { return &appv1alpha1.MyAppList{} },

	Replicas:       func(o client.Object) **int32 { return &o.(*appv1alpha1.MyApp).Spec.Replicas },
	Image:          func(o client.Object) *string { return &o.(*appv1alpha1.MyApp).Spec.Image },
	Suspend:        func(o client.Object) **bool { return &o.(*appv1alpha1.MyApp).Spec.Suspend },
	DeletionPolicy: func(o client.Object) *workload.DeletionPolicy { return &o.(*appv1alpha1.MyApp).Spec.DeletionPolicy },
	PodTemplate:    func(o client.Object) **workload.PodTemplate { return &o.(*appv1alpha1.MyApp).Spec.PodTemplate },
	Status: func(o client.Object) Status {
		s := o.(*appv1alpha1.MyApp).Status
		return Status{s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.Selector, s.Conditions}
	},
	vary:   func(o client.Object, r *rand.Rand) { varyMyApp(o.(*appv1alpha1.MyApp), r) },
	sample: func() client.Object { return fixtures.MyApp() },
}
