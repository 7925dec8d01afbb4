// Package memcached_test has the specs of Memcached on a real kube-apiserver.
package memcached_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/envtest/behaviour"
	"github.com/example-inc/memcached-operator/test/suite"
)

var on = suite.On(cluster.Envtest)

func TestMemcached(t *testing.T) { suite.Run(t, "Memcached on kube-apiserver") }

var _ = Describe("Memcached", func() { behaviour.Specs(on, suite.Memcached) })
