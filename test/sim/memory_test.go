package sim_test

import (
	"fmt"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example-inc/memcached-operator/test/suite"
)

// operator-sdk#4184, controller-runtime#1491
var _ = Describe("Memory", Serial, func() {
	const foreign = 10_000
	// A pod takes some kilobytes of a cache. The bound leaves room for noise, and for less than a tenth of them.
	const bound = 4 << 20

	s := &stage{kind: suite.Memcached}
	s.setUp()

	It("does not grow with the pods of others", func(ctx SpecContext) {
		owner := s.create(ctx, 1)
		before := heap()
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(16)
		for i := range foreign {
			group.Go(func() error { return s.Client.Create(groupCtx, stranger(s.Namespace, i)) })
		}
		Expect(group.Wait()).To(Succeed())
		// The cache is up to date once it holds what came after them.
		s.change(ctx, owner, func() { **s.kind.Replicas(owner) = 2 })
		s.settle(ctx, owner)

		pods := &corev1.PodList{}
		Expect(s.operator.Manager.GetCache().List(ctx, pods)).To(Succeed())
		Expect(pods.Items).To(HaveLen(2))
		Expect(heap() - before).To(BeNumerically("<", bound))
	}, SpecTimeout(5*time.Minute))
})

// stranger is a pod that nobody schedules.
func stranger(namespace string, i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("stranger-%d", i), Labels: map[string]string{"app": "stranger"}},
		Spec: corev1.PodSpec{
			SchedulerName:   "nobody",
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "main", Image: "stranger",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// heap is what is in use after everything that can be collected has been.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // Far below the limit.
}
