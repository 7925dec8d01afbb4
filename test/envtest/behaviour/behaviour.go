// Package behaviour has the specs that hold for both kinds, on an API server without the controllers of Kubernetes. Where
// those matter, the specs play them.
package behaviour

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/test/fixtures/play"
	"github.com/example-inc/memcached-operator/test/suite"
)

// limit is for one spec, on a machine that is busy with other suites.
const limit = SpecTimeout(90 * time.Second)

// Specs declares all of them for kind.
func Specs(s *suite.Suite, kind *suite.Kind) {
	for _, declare := range []func(*stage){
		creation, scaling, drift, status, ownership, deletion, quiescence, refusal,
	} {
		declare(&stage{suite: s, kind: kind})
	}
}

// stage is where the specs of one container play: a namespace and an operator of its own for each spec.
type stage struct {
	*suite.Env

	suite    *suite.Suite
	kind     *suite.Kind
	operator *suite.Operator
}

// setUp gives each spec of the container a namespace and an operator.
func (s *stage) setUp() {
	BeforeEach(func(ctx SpecContext) {
		s.Env = s.suite.Env(ctx)
		s.operator = s.Run(ctx)
	}, NodeTimeout(time.Minute))
}

// create creates a sample of the kind, changed by mutate.
func (s *stage) create(ctx context.Context, mutate ...func(client.Object)) client.Object {
	GinkgoHelper()
	object := s.kind.New(s.Namespace, mutate...)
	Expect(s.Client.Create(ctx, object)).To(Succeed())
	return object
}

// change updates object as mutate says, on whatever has become of it.
func (s *stage) change(ctx context.Context, object client.Object, mutate func()) {
	GinkgoHelper()
	Eventually(ctx, s.Komega(ctx).Update(object, mutate)).Should(Succeed())
}

// read brings object up to date.
func (s *stage) read(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// image is the one that owner asks for, or the operator's default.
func (s *stage) image(owner client.Object) string {
	if image := *s.kind.Image(owner); image != "" {
		return image
	}
	return suite.DefaultImage
}

func (s *stage) gvk(object client.Object) schema.GroupVersionKind {
	GinkgoHelper()
	gvk, err := s.Client.GroupVersionKindFor(object)
	Expect(err).NotTo(HaveOccurred())
	return gvk
}

// replicas makes a resource ask for n pods.
func (s *stage) replicas(n int32) func(client.Object) {
	return func(object client.Object) { *s.kind.Replicas(object) = new(n) }
}

// settle plays the rollout until owner serves as its latest spec says, and brings owner up to date.
func (s *stage) settle(ctx context.Context, owner client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		key := client.ObjectKeyFromObject(owner)
		g.Expect(play.Deployment(ctx, s.Client, key, play.Options{})).To(Succeed())
		g.Expect(s.Client.Get(ctx, key, owner)).To(Succeed())
		status := s.kind.Status(owner)
		g.Expect(status.ObservedGeneration).To(Equal(owner.GetGeneration()))
		g.Expect(status.ReadyReplicas).To(Equal(**s.kind.Replicas(owner)))
		g.Expect(owner).To(suite.HaveCondition(s.kind.Serving, metav1.ConditionTrue, workload.ReasonReplicasReady))
		g.Expect(owner).To(suite.HaveCondition(workload.ConditionProgressing, metav1.ConditionFalse, workload.ReasonRolloutComplete))
	}).Should(Succeed())
}

// owned waits until all children of owner are there.
func (s *stage) owned(ctx context.Context, owner client.Object) []client.Object {
	GinkgoHelper()
	children := suite.Children(owner)
	for _, child := range children {
		Eventually(ctx, s.Komega(ctx).Get(child)).Should(Succeed())
	}
	return children
}

// collect does what the garbage collector would do to an object without dependants that is deleted in the foreground.
func (s *stage) collect(ctx context.Context, object client.Object) error {
	err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err != nil || !controllerutil.RemoveFinalizer(object, metav1.FinalizerDeleteDependents) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(s.Client.Update(ctx, object))
}
