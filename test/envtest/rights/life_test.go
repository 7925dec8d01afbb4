package rights_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/suite"
)

// errNotYet means that the manager has still to do something.
var errNotYet = errors.New("not yet")

// rest is how long the manager is left alone at the end, to do what it does late.
const rest = 3 * time.Second

// life is that of one resource, in which the manager comes to need all that it needs.
type life struct {
	*running

	kind  *suite.Kind
	owner client.Object
	next  int
	steps []act
	ended time.Time
}

// act is what the test does to the resource or its children. It is repeated until it returns nil.
type act struct {
	what string
	do   func(ctx context.Context) error
}

func newLife(m *running, kind *suite.Kind) *life {
	l := &life{running: m, kind: kind, owner: kind.New(m.namespace)}
	l.steps = []act{
		{"scraping", l.scrape},
		{"creating", l.create},
		{"waiting for the children", l.children},
		{"changing the Service", l.spoilService},
		{"changing the budget", l.spoilBudget},
		{"changing the spec", l.change},
		{"taking the Service away", l.seize},
		{"waiting for the conflict", l.degraded(true)},
		{"giving the Service back", l.giveBack},
		{"waiting for the recovery", l.degraded(false)},
		{"taking the Service away again", l.seize},
		{"waiting for the second conflict", l.degraded(true)},
		{"giving the Service back again", l.giveBack},
		{"waiting for the second recovery", l.degraded(false)},
		{"scaling to one, which needs no budget", l.scaleDown},
		{"waiting for the end of the budget", l.noBudget},
		{"deleting", l.delete},
		{"collecting what is deleted in the foreground", l.collect},
		{"resting", l.rest},
	}
	return l
}

// step does what comes next. It stays there while that fails.
func (l *life) step(ctx context.Context) error {
	err := l.steps[l.next].do(ctx)
	if err == nil {
		l.next++
	}
	return err
}

func (l *life) over() bool { return l.next == len(l.steps) }

func (l *life) at() string {
	if l.over() {
		return "the life is over"
	}
	return "while " + l.steps[l.next].what
}

// scrape asks for the metrics with a token that is good for nothing, about which the manager asks the API server.
func (l *life) scrape(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: l.namespace}}
	if err := admin.Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	token := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(ctx, account, token); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.Metrics+"/metrics", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token.Status.Token)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // Its own certificate, on the loopback address.
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (l *life) create(ctx context.Context) error {
	return admin.Create(ctx, l.owner)
}

func (l *life) children(ctx context.Context) error {
	for _, child := range suite.Children(l.owner) {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
			return err
		}
	}
	return nil
}

func (l *life) spoilService(ctx context.Context) error {
	service := suite.Service(l.owner)
	return l.update(ctx, service, func() { service.Spec.Ports[0].Port = 1 })
}

func (l *life) spoilBudget(ctx context.Context) error {
	budget := suite.Budget(l.owner)
	return l.update(ctx, budget, func() { budget.Spec.MaxUnavailable = new(intstr.FromInt32(2)) })
}

func (l *life) change(ctx context.Context) error {
	return l.update(ctx, l.owner, func() {
		*l.kind.PodTemplate(l.owner) = &workload.PodTemplate{Annotations: map[string]string{"example.com/changed": "yes"}}
	})
}

// seize makes the Service somebody else's.
func (l *life) seize(ctx context.Context) error {
	service := suite.Service(l.owner)
	return l.update(ctx, service, func() {
		service.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "Deployment", Name: "other", UID: "other", Controller: new(true),
		}}
	})
}

// giveBack makes the Service nobody's.
func (l *life) giveBack(ctx context.Context) error {
	service := suite.Service(l.owner)
	if err := l.update(ctx, service, func() { service.OwnerReferences = nil }); err != nil {
		return err
	}
	return client.IgnoreNotFound(admin.Delete(ctx, service))
}

func (l *life) degraded(want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(l.owner), l.owner); err != nil {
			return err
		}
		all := l.kind.Status(l.owner).Conditions
		if c := meta.FindStatusCondition(all, workload.ConditionDegraded); c == nil || (c.Status == metav1.ConditionTrue) != want {
			return fmt.Errorf("%w: the conditions are %v", errNotYet, all)
		}
		return nil
	}
}

func (l *life) scaleDown(ctx context.Context) error {
	return l.update(ctx, l.owner, func() { *l.kind.Replicas(l.owner) = new(int32(1)) })
}

func (l *life) noBudget(ctx context.Context) error {
	if err := l.finish(ctx, suite.Budget(l.owner)); err != nil {
		return err
	}
	return gone(ctx, suite.Budget(l.owner))
}

func (l *life) delete(ctx context.Context) error { return admin.Delete(ctx, l.owner) }

// collect does what the garbage collector would, until the resource is gone.
func (l *life) collect(ctx context.Context) error {
	for _, child := range suite.Children(l.owner) {
		if err := l.finish(ctx, child); err != nil {
			return err
		}
	}
	return gone(ctx, l.kind.Named(l.owner))
}

// finish ends an object that is being deleted, if it is.
func (l *life) finish(ctx context.Context, object client.Object) error {
	err := admin.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil && object.GetDeletionTimestamp() != nil {
		object.SetFinalizers(nil)
		err = admin.Update(ctx, object)
	}
	return client.IgnoreNotFound(err)
}

func (l *life) rest(context.Context) error {
	if l.ended.IsZero() {
		l.ended = time.Now()
	}
	if time.Since(l.ended) < rest {
		return errNotYet
	}
	return nil
}

func (l *life) update(ctx context.Context, object client.Object, mutate func()) error {
	if err := admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	mutate()
	return admin.Update(ctx, object)
}

func gone(ctx context.Context, object client.Object) error {
	err := admin.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil {
		return errNotYet
	}
	return client.IgnoreNotFound(err)
}
