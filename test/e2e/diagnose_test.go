package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/harness/cluster"
)

// tail is how many lines of a log are shown on the console.
const tail = 15

// warn makes the API server warn of what the restricted standard forbids, besides forbidding it.
func (s *stage) warn(ctx context.Context) error {
	patch := `{"metadata":{"labels":{"pod-security.kubernetes.io/warn":"restricted","pod-security.kubernetes.io/warn-version":"latest"}}}`
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	return s.client.Patch(ctx, namespace, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// diagnose writes what is known after a failure into a folder of the feature's, and its end to the console.
func (s *stage) diagnose(ctx context.Context, t *testing.T, folder string) {
	t.Helper()
	dir := filepath.Join(s.out, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Log("writing diagnostics:", err)
		return
	}
	objects, err := s.objects(ctx)
	errs := []error{err, os.WriteFile(filepath.Join(dir, "objects.yaml"), objects, 0o644), s.podLogs(ctx, dir)}
	logs, err := s.operator.Log(ctx)
	errs = append(errs, err)
	for name, log := range logs {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name+".log"), []byte(log), 0o644))
		t.Logf("the last lines of %s:\n%s", name, lastLines(log))
	}
	if s.owner != nil {
		t.Logf("%s: %s", s.name(), s.conditions())
	}
	t.Logf("diagnostics are in %s", dir)
	if err := errors.Join(errs...); err != nil {
		t.Log("writing diagnostics:", err)
	}
}

// objects are those of the feature's namespace, events included.
func (s *stage) objects(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	var errs []error
	for _, list := range []client.ObjectList{
		&cachev1.MemcachedList{}, &appv1alpha1.MyAppList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{},
		&corev1.PodList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}, &eventsv1.EventList{},
	} {
		err := s.client.List(ctx, list, client.InNamespace(s.namespace))
		data, yamlErr := yaml.Marshal(list)
		errs = append(errs, err, yamlErr)
		_, _ = fmt.Fprintf(&out, "--- # %T\n%s", list, data)
	}
	return out.Bytes(), errors.Join(errs...)
}

// podLogs writes the logs of the namespace's pods, where containers run.
func (s *stage) podLogs(ctx context.Context, dir string) error {
	if !s.Has(cluster.Containers) {
		return nil
	}
	return s.logsOf(ctx, s.namespace, nil, func(name, log string) error {
		return os.WriteFile(filepath.Join(dir, name+".log"), []byte(log), 0o644)
	})
}

// logsOf calls tell with the log of each container of the pods in a namespace.
func (s *site) logsOf(ctx context.Context, namespace string, labels map[string]string, tell func(name, log string) error) error {
	pods := &corev1.PodList{}
	if err := s.client.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return err
	}
	var errs []error
	for _, pod := range pods.Items {
		for _, container := range pod.Status.ContainerStatuses {
			for _, previous := range []bool{false, true} {
				if previous && container.RestartCount == 0 {
					continue
				}
				name := pod.Name + "-" + container.Name
				if previous {
					name += "-previous"
				}
				log, err := s.podLog(ctx, namespace, pod.Name, &corev1.PodLogOptions{Container: container.Name, Previous: previous})
				if err == nil {
					err = tell(name, log)
				}
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func (s *site) podLog(ctx context.Context, namespace, name string, options *corev1.PodLogOptions) (string, error) {
	stream, err := s.clients.CoreV1().Pods(namespace).GetLogs(name, options).Stream(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of pod %s: %w", name, err)
	}
	log, err := io.ReadAll(stream)
	return string(log), errors.Join(err, stream.Close())
}

func lastLines(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-tail):], "\n")
}
