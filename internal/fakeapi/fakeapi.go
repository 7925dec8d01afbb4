// Package fakeapi is an API server for unit tests: controller-runtime's fake client with the generated type converters,
// which keeps a log of the requests and fails on demand. It checks no preconditions and fills in no defaults.
package fakeapi

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoac "k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	appv1alpha1ac "github.com/example-inc/memcached-operator/api/app/v1alpha1/applyconfiguration"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	cachev1ac "github.com/example-inc/memcached-operator/api/cache/v1/applyconfiguration"
)

// FieldOwner is the field manager of the Server's writes.
const FieldOwner = "memcached-operator"

// Request is one that the Server has received.
type Request struct {
	// Verb is get, list, apply, apply status, patch or delete.
	Verb string
	// Kind and Name are the object's.
	Kind, Name string
	// Body is what was sent: a configuration or a patch.
	Body string
	// Delete are the options of a delete.
	Delete client.DeleteOptions
	// Force is that of an apply.
	Force bool
}

// String is the request in short, such as "apply Service demo".
func (r Request) String() string { return strings.TrimSpace(r.Verb + " " + r.Kind + " " + r.Name) }

// Index is a field index of pods.
type Index struct {
	Field   string
	Extract client.IndexerFunc
}

// Server is the API server.
type Server struct {
	client.Client // Writes as FieldOwner.

	mu       sync.Mutex
	requests []Request
	faults   map[string]fault
}

type fault struct {
	err  error
	once bool
}

// New starts a Server that holds objects, with field indexes of pods.
func New(t testing.TB, indexes []Index, objects ...client.Object) *Server {
	t.Helper()
	scheme := Scheme()
	s := &Server{faults: map[string]fault{}}
	builder := fake.NewClientBuilder().
		WithScheme(scheme).
		WithTypeConverters(converters()...).
		WithReturnManagedFields().
		WithStatusSubresource(&cachev1.Memcached{}, &appv1alpha1.MyApp{}).
		WithInterceptorFuncs(s.interceptors(scheme))
	for _, object := range objects {
		builder.WithObjects(object.DeepCopyObject().(client.Object)) // The tracker writes to what it is given.
	}
	for _, index := range indexes {
		builder.WithIndex(&corev1.Pod{}, index.Field, index.Extract)
	}
	s.Client = client.WithFieldOwner(builder.Build(), FieldOwner)
	return s
}

// Scheme knows all kinds that the Server serves.
func Scheme() *runtime.Scheme {
	return schemeOf(clientgoscheme.AddToScheme, cachev1.AddToScheme, appv1alpha1.AddToScheme)
}

func schemeOf(add ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, f := range add {
		utilruntime.Must(f(scheme))
	}
	return scheme
}

// converters are one per set of kinds: each fails for those that it does not know, and the next is asked. They are dear.
var converters = sync.OnceValue(func() []managedfields.TypeConverter {
	return []managedfields.TypeConverter{
		clientgoac.NewTypeConverter(schemeOf(clientgoscheme.AddToScheme)),
		cachev1ac.NewTypeConverter(schemeOf(cachev1.AddToScheme)),
		appv1alpha1ac.NewTypeConverter(schemeOf(appv1alpha1.AddToScheme)),
	}
})

// Fail makes each following request of verb on kind, such as "apply" on "Service", end with err, without effect.
func (s *Server) Fail(verb, kind string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[verb+" "+kind] = fault{err: err}
}

// FailOnce makes only the next of them fail.
func (s *Server) FailOnce(verb, kind string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[verb+" "+kind] = fault{err: err, once: true}
}

// Requests are all that have been received since the last call of Forget.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Forget empties the log.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Writes are the writing requests in short, failed ones included.
func (s *Server) Writes() []string {
	var writes []string
	for _, r := range s.Requests() {
		if r.Verb != "get" && r.Verb != "list" {
			writes = append(writes, r.String())
		}
	}
	return writes
}

// Find is the first request that reads as short, such as "apply Service demo"; the test fails without one.
func (s *Server) Find(t testing.TB, short string) Request {
	t.Helper()
	for _, r := range s.Requests() {
		if r.String() == short {
			return r
		}
	}
	t.Fatalf("no request %q among %v", short, s.Requests())
	return Request{}
}

// Errors are those that an API server may answer with, by name.
func Errors() map[string]error {
	resource, kind := schema.GroupResource{Resource: "things"}, schema.GroupKind{Kind: "Thing"}
	ending := apierrors.NewForbidden(resource, "demo", errors.New("the namespace is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return map[string]error{
		"NotFound":             apierrors.NewNotFound(resource, "demo"),
		"Conflict":             apierrors.NewConflict(resource, "demo", errors.New("it has been modified")),
		"AlreadyExists":        apierrors.NewAlreadyExists(resource, "demo"),
		"Invalid":              apierrors.NewInvalid(kind, "demo", nil),
		"BadRequest":           apierrors.NewBadRequest("no such field"),
		"Forbidden":            apierrors.NewForbidden(resource, "demo", errors.New("exceeded quota")),
		"NamespaceTerminating": ending,
		"InternalError":        apierrors.NewInternalError(errors.New("etcd is down")),
		"Timeout":              apierrors.NewTimeoutError("it took too long", 1),
		"TooManyRequests":      apierrors.NewTooManyRequests("slow down", 1),
		"ServiceUnavailable":   apierrors.NewServiceUnavailable("back soon"),
		"Reset":                errors.New("connection reset by peer"),
	}
}

// Behind is a client that writes to the Server and reads from the past, as a cache does that lags.
func (s *Server) Behind(past client.Reader) client.Client { return stale{Client: s.Client, past: past} }

type stale struct {
	client.Client
	past client.Reader
}

func (c stale) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.past.Get(ctx, key, object, options...)
}

func (c stale) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.past.List(ctx, list, options...)
}

// log adds a request and returns the fault for it.
func (s *Server) log(r Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	key := r.Verb + " " + r.Kind
	f := s.faults[key]
	if f.once {
		delete(s.faults, key)
	}
	return f.err
}

// ofConfiguration describes an apply by what is sent.
func ofConfiguration(verb string, configuration runtime.ApplyConfiguration, force *bool) (Request, error) {
	body, err := json.Marshal(configuration)
	if err != nil {
		return Request{}, err
	}
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return Request{}, err
	}
	return Request{Verb: verb, Kind: head.Kind, Name: head.Metadata.Name, Body: string(body), Force: force != nil && *force}, nil
}
