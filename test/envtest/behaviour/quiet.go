package behaviour

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/test/suite"
)

// poke changes object in a way that is nobody's concern, so that the operator looks at it again.
func (s *stage) poke(ctx context.Context, object client.Object) {
	GinkgoHelper()
	patch := []byte(`{"metadata":{"labels":{"example.com/poke":"` + rand.String(8) + `"}}}`)
	Expect(s.Client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
}

// quiet expects that what stir does makes the operator reconcile, and that this makes it write nothing, now or soon.
func (s *stage) quiet(ctx context.Context, stir func()) {
	GinkgoHelper()
	before, mark := suite.Reconciles(s.kind), s.operator.Traffic.Mark()
	stir()
	Eventually(ctx, func() float64 { return suite.Reconciles(s.kind) }).Should(BeNumerically(">", before))
	Consistently(ctx, func() []suite.Request { return s.operator.Traffic.WritesSince(mark) }).
		WithTimeout(700 * time.Millisecond).Should(BeEmpty())
}
