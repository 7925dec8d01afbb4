package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	idleTimeout = 5 * time.Minute
	// idleFor is how long a manager must have done nothing to be called idle. It is longer than any delay after
	// which ours looks again at a rollout that has just moved.
	idleFor = 8 * time.Second
)

// metricsOf are the metrics that matter here.
type metricsOf struct {
	reconciles float64 // Of the controller of Memcached, since the start.
	queued     float64
	heap       float64 // Bytes of live and dead objects on the heap.
}

func (m *manager) scrape(ctx context.Context) (metricsOf, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.metrics+"/metrics", nil)
	if err != nil {
		return metricsOf{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return metricsOf{}, fmt.Errorf("scraping the manager of %s: %w", m.subject.name, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return metricsOf{}, fmt.Errorf("scraping the manager of %s: %s", m.subject.name, response.Status)
	}
	return parseMetrics(response.Body)
}

func parseMetrics(text io.Reader) (metricsOf, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return metricsOf{}, fmt.Errorf("parsing metrics: %w", err)
	}
	heap, ok := families["go_memstats_heap_alloc_bytes"]
	if !ok {
		return metricsOf{}, errors.New("parsing metrics: there is no go_memstats_heap_alloc_bytes")
	}
	return metricsOf{
		reconciles: sum(families["controller_runtime_reconcile_total"], "controller"),
		queued:     sum(families["workqueue_depth"], "name"),
		heap:       heap.GetMetric()[0].GetGauge().GetValue(),
	}, nil
}

// sum adds up the metrics of a family whose label names the controller of Memcached.
func sum(family *dto.MetricFamily, label string) (total float64) {
	for _, metric := range family.GetMetric() {
		for _, pair := range metric.GetLabel() {
			if pair.GetName() == label && pair.GetValue() == "memcached" {
				total += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return total
}

// awaitIdle waits until the manager has reconciled n resources at least and then done nothing for a while.
func (m *manager) awaitIdle(ctx context.Context, n int) error {
	var last float64
	var since time.Time
	err := wait.PollUntilContextTimeout(ctx, time.Second, idleTimeout, true, func(ctx context.Context) (bool, error) {
		now, err := m.scrape(ctx)
		if err != nil {
			return false, err
		}
		if now.reconciles != last || now.queued > 0 || int(now.reconciles) < n {
			last, since = now.reconciles, time.Now()
			return false, nil
		}
		return time.Since(since) >= idleFor, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager of %s to be idle (%.0f reconciles): %w", m.subject.name, last, err)
	}
	return nil
}
