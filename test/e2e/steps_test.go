package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/api/workload"
)

// create creates a resource of n replicas, changed by mutate.
func (s *stage) create(n int32, mutate ...func(client.Object)) features.Func {
	return do(func(ctx context.Context) error {
		s.owner = s.kind.New(s.namespace, append([]func(client.Object){s.usual(n)}, mutate...)...)
		return s.client.Create(ctx, s.owner)
	})
}

// usual makes a resource one that runs at every level: with the images that are at hand, and quickly gone.
func (s *stage) usual(n int32) func(client.Object) {
	return func(o client.Object) {
		*s.kind.Replicas(o) = new(n)
		switch o := o.(type) {
		case *cachev1.Memcached:
			o.Spec.Image = s.images.memcached
		case *appv1alpha1.MyApp:
			o.Spec.Image = s.images.probe
		}
	}
}

// change updates the resource as mutate says, on whatever has become of it.
func (s *stage) change(mutate func(client.Object)) features.Func {
	return do(func(ctx context.Context) error {
		return await(ctx, "the change of "+s.name(), func(ctx context.Context) (string, bool, error) {
			if err := s.read(ctx); err != nil {
				return "", false, err
			}
			mutate(s.owner)
			return "", true, s.client.Update(ctx, s.owner)
		})
	})
}

// serves waits until the resource says that it is as its latest spec says, and holds that against the pods that run.
func (s *stage) serves() features.Func { return do(s.settle) }

func (s *stage) settle(ctx context.Context) error {
	return await(ctx, s.name()+" to serve", func(ctx context.Context) (string, bool, error) {
		if err := s.read(ctx); err != nil {
			return "", false, err
		}
		running, err := s.running(ctx)
		if err != nil {
			return "", false, err
		}
		status, want := s.kind.Status(s.owner), int(ptr.Deref(*s.kind.Replicas(s.owner), 1))
		seen := fmt.Sprintf("generation %d, observed %d; %d of %d pods ready; running %v; %s",
			s.owner.GetGeneration(), status.ObservedGeneration, status.ReadyReplicas, want, running, s.conditions())
		nodes := running
		if mc, ok := s.owner.(*cachev1.Memcached); ok {
			nodes = mc.Status.Nodes
			seen += fmt.Sprintf("; nodes %v", nodes)
		}
		done := status.ObservedGeneration == s.owner.GetGeneration() && int(status.ReadyReplicas) == want && int(status.Replicas) == want &&
			len(running) == want && slices.Equal(nodes, running) &&
			meta.IsStatusConditionTrue(status.Conditions, s.kind.Serving) &&
			meta.IsStatusConditionFalse(status.Conditions, workload.ConditionProgressing) &&
			meta.IsStatusConditionFalse(status.Conditions, workload.ConditionDegraded)
		return seen, done, nil
	})
}

// scale has kubectl scale the resource.
func (s *stage) scale(n int) features.Func {
	return do(func(ctx context.Context) error {
		_, err := s.kubectl(ctx, "scale", s.kind.Resource, s.owner.GetName(), "--namespace", s.namespace, "--replicas", strconv.Itoa(n))
		return err
	})
}

// gone waits until the resource is no longer there.
func (s *stage) gone() features.Func {
	return do(func(ctx context.Context) error {
		return await(ctx, "the end of "+s.name(), func(ctx context.Context) (string, bool, error) {
			err := s.read(ctx)
			if apierrors.IsNotFound(err) {
				return "", true, nil
			}
			return "it is there, " + s.conditions(), false, err
		})
	})
}

// noPods checks that no pod is left at this very moment.
func (s *stage) noPods() features.Func {
	return do(func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%s is gone, and %d pods are still there: %v", s.name(), len(pods), names(pods))
		}
		return err
	})
}

func (s *stage) read(ctx context.Context) error {
	return s.client.Get(ctx, client.ObjectKeyFromObject(s.owner), s.owner)
}

func (s *stage) name() string { return s.kind.Name + " " + s.owner.GetName() }

func (s *stage) conditions() string {
	var all []string
	for _, c := range s.kind.Status(s.owner).Conditions {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s=%s (%s) %s", c.Type, c.Status, c.Reason, c.Message)))
	}
	if all == nil {
		return "no conditions"
	}
	return strings.Join(all, ", ")
}

// pods are those that the resource's labels select.
func (s *stage) pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := s.client.List(ctx, list, client.InNamespace(s.namespace), client.MatchingLabels(s.kind.Selector(s.owner.GetName())))
	return list.Items, err
}

// running are the names of the pods that are ready and not terminating, sorted, as the API server has them.
func (s *stage) running(ctx context.Context) ([]string, error) {
	pods, err := s.pods(ctx)
	return names(slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !ready(&p) })), err
}

func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func names(pods []corev1.Pod) []string {
	all := make([]string, 0, len(pods))
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	slices.Sort(all)
	return all
}

// uids identify pods and how often their containers were started.
func uids(pods []corev1.Pod) []string {
	all := make([]string, 0, len(pods))
	for _, pod := range pods {
		restarts := int32(0)
		for _, c := range pod.Status.ContainerStatuses {
			restarts += c.RestartCount
		}
		all = append(all, fmt.Sprintf("%s %s, %d restarts", pod.Name, pod.UID, restarts))
	}
	slices.Sort(all)
	return all
}

// remembered is what a feature has seen of the pods, to be compared with what it sees later.
type remembered struct{ uids, names []string }

// remember returns the memory that its step fills.
func (s *stage) remember(memory *remembered) features.Func {
	return do(func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if err == nil && len(pods) == 0 {
			err = errors.New("there is no pod to remember")
		}
		*memory = remembered{uids(pods), names(pods)}
		return err
	})
}

// same checks that the pods are those that are remembered, none of them restarted.
func (s *stage) same(memory *remembered) features.Func {
	return do(func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if now := uids(pods); err == nil && !slices.Equal(now, memory.uids) {
			err = fmt.Errorf("the pods were %v, and are %v", memory.uids, now)
		}
		return err
	})
}
