// Package suite is what the Ginkgo suites of the operator share: one cluster for a suite, a namespace of its own for each
// spec, and in it the operator as it is shipped, limited to that namespace, with the rights of the shipped role and with
// its requests and its log recorded. Suites of several packages can so share one cluster at the same time.
package suite

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/config/crd"
	"github.com/example-inc/memcached-operator/controllers"
	"github.com/example-inc/memcached-operator/harness/cluster"
)

const (
	eventually   = 30 * time.Second
	consistently = 1500 * time.Millisecond
	pollEvery    = 50 * time.Millisecond
	// bootTime is enough for the slowest level on a busy machine.
	bootTime = 5 * time.Minute
	// junitDir is the environment variable that names the directory for a report of each spec, for CI.
	junitDir = "JUNIT_DIR"
)

// Suite is a running cluster with the operator's definitions and rights installed. It is filled before the first spec.
type Suite struct {
	// Cluster is the cluster of the suite.
	Cluster cluster.Cluster
	// Client is the tests' own: an administrator, uncached, seen by no record.
	Client client.Client
	// Scheme knows the operator's kinds and Kubernetes' own.
	Scheme *runtime.Scheme

	operator *rest.Config // With the rights of the shipped role and no more.
}

// On declares, at the top level of a test package, that its specs run on a cluster of the level. What a package needs
// besides is prepared once the cluster is up.
func On(level cluster.Level, prepare ...func(context.Context)) *Suite {
	s := &Suite{Scheme: controllers.Scheme()}
	ginkgo.BeforeSuite(func(ctx ginkgo.SpecContext) {
		ctrl.SetLogger(ginkgo.GinkgoLogr)
		gomega.Expect(s.start(ctx, level)).To(gomega.Succeed())
		for _, more := range prepare {
			more(ctx)
		}
	}, ginkgo.NodeTimeout(bootTime))
	ginkgo.AfterSuite(func(ctx ginkgo.SpecContext) {
		if s.Cluster != nil {
			gomega.Expect(s.Cluster.Stop(ctx)).To(gomega.Succeed())
		}
	}, ginkgo.NodeTimeout(bootTime))
	return s
}

// Run runs the specs of a test package.
func Run(t *testing.T, name string) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	gomega.EnforceDefaultTimeoutsWhenUsingContexts()
	gomega.SetDefaultEventuallyTimeout(eventually)
	gomega.SetDefaultEventuallyPollingInterval(pollEvery)
	gomega.SetDefaultConsistentlyDuration(consistently)
	gomega.SetDefaultConsistentlyPollingInterval(pollEvery)
	format.MaxLength = 16000
	_, reporter := ginkgo.GinkgoConfiguration()
	if dir := os.Getenv(junitDir); dir != "" {
		reporter.JUnitReport = filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".xml")
	}
	ginkgo.RunSpecs(t, name, reporter)
}

func (s *Suite) start(ctx context.Context, level cluster.Level) (err error) {
	s.Cluster, err = cluster.Start(ctx, cluster.Options{Level: level, CRDs: []fs.FS{crd.Files}})
	if err != nil {
		return err
	}
	if s.Client, err = client.New(s.Cluster.Config(), client.Options{Scheme: s.Scheme}); err != nil {
		return err
	}
	s.operator, err = s.grant(ctx)
	return err
}
