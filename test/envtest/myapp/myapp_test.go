// Package myapp_test has the specs of MyApp on a real kube-apiserver.
package myapp_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/envtest/behaviour"
	"github.com/example-inc/memcached-operator/test/suite"
)

var on = suite.On(cluster.Envtest)

func TestMyApp(t *testing.T) { suite.Run(t, "MyApp on kube-apiserver") }

var _ = Describe("MyApp", func() { behaviour.Specs(on, suite.MyApp) })
