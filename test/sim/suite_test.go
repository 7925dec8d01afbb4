// Package sim_test has the specs of the operator on a simulated cluster: the controllers, the scheduler and the garbage
// collector are Kubernetes' own, only the kubelets are simulated.
package sim_test

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/api/workload"
	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/suite"
)

// limit is for one spec, on a machine that is busy with other suites.
const limit = SpecTimeout(2 * time.Minute)

var on = suite.On(cluster.Kwok)

func TestSimulatedCluster(t *testing.T) { suite.Run(t, "The operator on a simulated cluster") }

// kinds are those that most specs are declared for.
var kinds = []*suite.Kind{suite.Memcached, suite.MyApp}

// stage is where the specs of one container play: a namespace and an operator of its own for each spec.
type stage struct {
	*suite.Env

	kind     *suite.Kind
	operator *suite.Operator
}

// setUp gives each spec of the container a namespace and an operator.
func (s *stage) setUp() {
	BeforeEach(func(ctx SpecContext) {
		s.Env = on.Env(ctx)
		s.operator = s.Run(ctx)
	}, NodeTimeout(time.Minute))
}

// create creates a sample of the kind with n pods, changed by mutate, and waits until it serves.
func (s *stage) create(ctx context.Context, n int32, mutate ...func(client.Object)) client.Object {
	GinkgoHelper()
	object := s.kind.New(s.Namespace, append(mutate, func(o client.Object) { *s.kind.Replicas(o) = new(n) })...)
	Expect(s.Client.Create(ctx, object)).To(Succeed())
	s.settle(ctx, object)
	return object
}

// settle waits until owner is as its latest spec says, and brings it up to date.
func (s *stage) settle(ctx context.Context, owner client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(owner), owner)).To(Succeed())
		status, want := s.kind.Status(owner), **s.kind.Replicas(owner)
		g.Expect(status.ObservedGeneration).To(Equal(owner.GetGeneration()))
		g.Expect(status.Replicas).To(Equal(want))
		g.Expect(status.ReadyReplicas).To(Equal(want))
		g.Expect(owner).To(suite.HaveCondition(s.kind.Serving, metav1.ConditionTrue, workload.ReasonReplicasReady))
		g.Expect(owner).To(suite.HaveCondition(workload.ConditionProgressing, metav1.ConditionFalse, workload.ReasonRolloutComplete))
	}).Should(Succeed())
}

// change updates owner as mutate says, on whatever has become of it.
func (s *stage) change(ctx context.Context, owner client.Object, mutate func()) {
	GinkgoHelper()
	Eventually(ctx, s.Komega(ctx).Update(owner, mutate)).Should(Succeed())
}

// pods are those that owner's labels select, by name.
func (s *stage) pods(ctx context.Context, owner client.Object) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(s.Client.List(ctx, list, client.InNamespace(s.Namespace),
		client.MatchingLabels(s.kind.Selector(owner.GetName())))).To(Succeed())
	return list.Items
}

// running are the names of owner's pods that are ready and not terminating, sorted, as the API server has them.
func (s *stage) running(ctx context.Context, owner client.Object) []string {
	GinkgoHelper()
	var names []string
	for _, pod := range s.pods(ctx, owner) {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if ready && pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// uids are those of objects, to be compared.
func uids(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, string(pod.UID))
	}
	slices.Sort(all)
	return all
}
