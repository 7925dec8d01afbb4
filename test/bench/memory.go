package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	mebibyte  = 1 << 20
	foreigner = "foreign"
)

func estimateMemory(s sizes) time.Duration {
	return 40*time.Second + time.Duration(s.memory)*50*time.Millisecond + time.Duration(s.foreign)*8*time.Millisecond + s.rest
}

// measureMemory reads the resident memory of both managers on a cluster with many resources and many more pods of others. Both are
// started afresh on what is there, watch all namespaces and are given the same time to rest.
func (b *bench) measureMemory(ctx context.Context) error {
	return b.onSite(ctx, false, func(ctx context.Context, st *site) error {
		if err := b.populate(ctx, st); err != nil {
			return err
		}
		used, heap := map[*subject]usage{}, map[*subject]float64{}
		err := b.rested(ctx, st, subjects, func(m *manager) (err error) {
			if used[m.subject], err = m.usage(); err != nil {
				return err
			}
			metrics, err := m.scrape(ctx)
			heap[m.subject] = metrics.heap
			return err
		})
		if err != nil {
			return err
		}
		b.addMemory(used, heap)
		return nil
	})
}

func (b *bench) addMemory(used map[*subject]usage, heap map[*subject]float64) {
	for _, s := range subjects {
		b.progress.say("%s: %d MiB resident, %d of them anonymous, %.0f on the heap", s.name,
			used[s].resident/mebibyte, used[s].anonymous/mebibyte, heap[s]/mebibyte)
	}
	ratio := func(s *subject) float64 { return float64(used[s].resident) / float64(used[tutorial].resident) }
	b.figures.add(figure{name: "rss_ratio", ours: ratio(ours), tutorial: new(ratio(tutorial)), bound: new(0.7), digits: 2})
	b.figures.add(figure{
		name: "rss_mib", ours: float64(used[ours].resident) / mebibyte,
		tutorial: new(float64(used[tutorial].resident) / mebibyte),
	})
}

// populate creates the pods of others, and the resources, which ours gives their children.
func (b *bench) populate(ctx context.Context, st *site) error {
	if err := st.createNamespace(ctx, foreigner); err != nil {
		return err
	}
	b.progress.say("%d pods of others", b.foreign)
	pods, err := countPods(ctx, st, foreigner)
	if err != nil {
		return err
	}
	defer pods.end()
	err = each(ctx, b.foreign, func(ctx context.Context, i int) error { return st.client.Create(ctx, foreignPod(i)) })
	if err != nil {
		return fmt.Errorf("creating pods of others: %w", err)
	}
	if err := pods.await(ctx, b.foreign); err != nil {
		return err
	}

	b.progress.say("%d resources", b.memory)
	namespaces, err := st.createTenants(ctx, b.memory)
	if err != nil {
		return err
	}
	return st.with(ctx, ours, func(*manager) error {
		census, err := countMemcacheds(ctx, st, metav1.NamespaceAll, ours.ready)
		if err != nil {
			return err
		}
		defer census.end()
		if err := st.createMemcacheds(ctx, b.memory, namespaces...); err != nil {
			return err
		}
		return census.await(ctx, b.memory)
	})
}

// createTenants creates namespaces for n resources. Kubernetes' own controllers take time that grows with the square of
// what one namespace holds.
func (st *site) createTenants(ctx context.Context, n int) (namespaces []string, _ error) {
	const perTenant = 50
	for i := 0; i*perTenant < n; i++ {
		name := fmt.Sprintf("tenant-%02d", i)
		if err := st.createNamespace(ctx, name); err != nil {
			return nil, err
		}
		namespaces = append(namespaces, name)
	}
	return namespaces, nil
}

// rested starts the managers of all, waits until each has looked at every resource, lets them rest, and has read look at each.
func (b *bench) rested(ctx context.Context, st *site, all []*subject, read func(*manager) error) error {
	if len(all) > 0 {
		return st.with(ctx, all[0], func(m *manager) error {
			b.progress.say("%s looks at everything", m.subject.name)
			if err := m.awaitIdle(ctx, b.memory); err != nil {
				return err
			}
			if err := b.rested(ctx, st, all[1:], read); err != nil {
				return err
			}
			return read(m)
		})
	}
	b.progress.say("both rest for %s", b.rest)
	return pause(ctx, b.rest)
}

// foreignPod is a small web server's, already assigned to a node.
func foreignPod(i int) *corev1.Pod {
	name := fmt.Sprintf("web-%05d", i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: foreigner, Name: name,
			Labels: map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": name, "pod-template-hash": "5d4f8c7b9"},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%3),
			Containers: []corev1.Container{{
				Name: "web", Image: "nginx:1.29",
				Env:   []corev1.EnvVar{{Name: "NAME", Value: name}, {Name: "LOG_LEVEL", Value: "info"}},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
				}},
			}},
		},
	}
}
