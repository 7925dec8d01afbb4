package sim_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/test/suite"
)

var _ = Describe("Deletion", func() {
	for _, kind := range kinds {
		Context("of a "+kind.Name, func() {
			s := &stage{kind: kind}
			s.setUp()

			It("takes the children down in order and releases the resource when its pods are gone", func(ctx SpecContext) {
				owner := s.create(ctx, 3)
				ended := s.watchDeletions(ctx)
				Expect(s.Client.Delete(ctx, owner)).To(Succeed())
				s.gone(ctx, owner)
				Expect(s.pods(ctx, owner)).To(BeEmpty())

				Eventually(ctx, ended.order).Should(Equal([]string{"Service", "Pod", "Pod", "Pod", "Deployment", "PodDisruptionBudget", kind.Name}))
			}, limit)

			for name, policy := range map[string]metav1.DeletionPropagation{
				"in the foreground": metav1.DeletePropagationForeground,
				"in the background": metav1.DeletePropagationBackground,
			} {
				It("completes "+name, func(ctx SpecContext) {
					owner := s.create(ctx, 2)
					Expect(s.Client.Delete(ctx, owner, client.PropagationPolicy(policy))).To(Succeed())
					s.gone(ctx, owner)
					Expect(s.pods(ctx, owner)).To(BeEmpty())
				}, limit)
			}

			It("in the middle of the creation completes (datashim#341)", func(ctx SpecContext) {
				owner := kind.New(s.Namespace)
				Expect(s.Client.Create(ctx, owner)).To(Succeed())
				Expect(s.Client.Delete(ctx, owner)).To(Succeed())
				s.gone(ctx, owner)
				for _, child := range suite.Children(owner) {
					Eventually(ctx, s.Komega(ctx).Get(child)).Should(Satisfy(apierrors.IsNotFound))
				}
			}, limit)

			It("and creation at once converge, without a pod of the first (knative/serving#7556)", func(ctx SpecContext) {
				first := s.create(ctx, 2)
				before := uids(s.pods(ctx, first))
				second := kind.New(s.Namespace, func(o client.Object) { o.SetGenerateName(""); o.SetName(first.GetName()) })
				Expect(s.Client.Delete(ctx, first)).To(Succeed())
				Eventually(ctx, func() error { return s.Client.Create(ctx, second) }).Should(Succeed())
				for _, uid := range uids(s.pods(ctx, first)) {
					Expect(before).NotTo(ContainElement(uid))
				}
				s.settle(ctx, second)
			}, limit)

			It("of its namespace completes (controller-runtime#880)", func(ctx SpecContext) {
				s.create(ctx, 2)
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
				Expect(s.Client.Delete(ctx, namespace)).To(Succeed())
				Eventually(ctx, s.Komega(ctx).Get(namespace)).WithTimeout(time.Minute).Should(Satisfy(apierrors.IsNotFound))
				Expect(s.operator.Log.Errors()).To(BeEmpty())
			}, limit)
		})
	}
})

// gone waits until owner is no longer there.
func (s *stage) gone(ctx context.Context, owner client.Object) {
	GinkgoHelper()
	Eventually(ctx, s.Komega(ctx).Get(s.kind.Named(owner))).Should(Satisfy(apierrors.IsNotFound))
}

// deletions are what has been deleted in a namespace.
type deletions struct {
	mu   sync.Mutex
	seen []client.Object
}

// watchDeletions begins to record what is deleted in the namespace of the spec.
func (s *stage) watchDeletions(ctx context.Context) *deletions {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(s.Cluster.Config(), client.Options{Scheme: s.Scheme})
	Expect(err).NotTo(HaveOccurred())
	d := &deletions{}
	for _, list := range []client.ObjectList{
		&corev1.ServiceList{}, &appsv1.DeploymentList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{}, s.kind.List(),
	} {
		w, err := watcher.Watch(ctx, list, client.InNamespace(s.Namespace))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(w.Stop)
		go d.record(w.ResultChan())
	}
	return d
}

func (d *deletions) record(events <-chan watch.Event) {
	for event := range events {
		if object, ok := event.Object.(client.Object); ok && event.Type == watch.Deleted {
			d.mu.Lock()
			d.seen = append(d.seen, object)
			d.mu.Unlock()
		}
	}
}

// order is the kinds of what has been deleted, by the API server's revisions: several watches have no order among them.
func (d *deletions) order() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	slices.SortFunc(d.seen, func(a, b client.Object) int {
		order, compareErr := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
		err = errors.Join(err, compareErr)
		return order
	})
	var kinds []string
	for _, object := range d.seen {
		kinds = append(kinds, reflect.TypeOf(object).Elem().Name())
	}
	return kinds, err
}
