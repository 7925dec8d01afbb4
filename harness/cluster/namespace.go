package cluster

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	namespaceTimeout = 30 * time.Second
	// maxPrefix leaves room for the suffix of a generated name in the 63 characters of a namespace's.
	maxPrefix = 40
)

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// CreateNamespace creates a namespace for one test, its name generated from prefix, under the restricted Pod Security
// Standard, and waits for its default service account where there are any, because no pod can be created before. The
// function that it returns asks for the namespace's deletion and does not wait for it: only levels with
// NamespaceDeletion carry it out.
func CreateNamespace(ctx context.Context, c Cluster, prefix string) (name string, remove func(context.Context) error, _ error) {
	clients, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return "", nil, fmt.Errorf("making a client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, namespaceTimeout)
	defer cancel()
	ns, err := clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: namePrefix(prefix),
		Labels: map[string]string{
			"pod-security.kubernetes.io/enforce":         "restricted",
			"pod-security.kubernetes.io/enforce-version": "latest",
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return "", nil, fmt.Errorf("creating a namespace for %s: %w", prefix, err)
	}
	if c.Has(ServiceAccountTokens) {
		if err := awaitServiceAccount(ctx, clients, ns.Name); err != nil {
			return "", nil, err
		}
	}
	return ns.Name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, namespaceTimeout)
		defer cancel()
		err := clients.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting namespace %s: %w", ns.Name, err)
		}
		return nil
	}, nil
}

func awaitServiceAccount(ctx context.Context, clients kubernetes.Interface, ns string) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		_, last = clients.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting up to %s for the service account %s/default: %w (last answer: %w)", namespaceTimeout, ns, err, last)
	}
	return nil
}

// Namespace is CreateNamespace for a test, which it names the namespace after and at whose end it removes it. Ginkgo's
// specs pass GinkgoTB().
func Namespace(t testing.TB, c Cluster) string {
	t.Helper()
	name, remove, err := CreateNamespace(t.Context(), c, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return name
}

func namePrefix(s string) string {
	s = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(s), "-"), "-")
	if s == "" {
		s = "test"
	}
	return strings.TrimRight(s[:min(len(s), maxPrefix)], "-") + "-"
}
