package suite

import (
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HaveCondition matches a resource whose status has the condition, with the reason.
func HaveCondition(kind string, status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	return gomega.HaveField("Status.Conditions", gomega.ContainElement(gomega.And(
		gomega.HaveField("Type", kind),
		gomega.HaveField("Status", status),
		gomega.HaveField("Reason", reason),
	)))
}

// eachItem calls do for each item of list.
func eachItem(list client.ObjectList, do func(client.Object) error) error {
	return meta.EachListItem(list, func(item runtime.Object) error { return do(item.(client.Object)) })
}
