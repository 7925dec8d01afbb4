package suite

import (
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Reconciles is how often kind's controller has reconciled in this process, whichever manager ran it: only a difference
// says something.
func Reconciles(kind *Kind) float64 {
	ginkgo.GinkgoHelper()
	families, err := metrics.Registry.Gather()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	total := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == kind.Controller {
					total += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return total
}
