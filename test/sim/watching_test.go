package sim_test

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/example-inc/memcached-operator/test/suite"
)

var _ = Describe("A manager that is told no namespace", func() {
	for _, kind := range kinds {
		It("serves the "+kind.Resource+" of all, with one role for all", func(ctx SpecContext) {
			here, there := &stage{Env: on.Env(ctx), kind: kind}, &stage{Env: on.Env(ctx), kind: kind}
			here.Run(ctx, func(setup *suite.Setup) { setup.Namespaces = nil })
			here.create(ctx, 1)
			there.create(ctx, 1)
		}, limit)
	}
})
