package main

import (
	"strings"
	"testing"
)

const scraped = `# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="memcached",result="error"} 2
controller_runtime_reconcile_total{controller="memcached",result="success"} 40
controller_runtime_reconcile_total{controller="myapp",result="success"} 7
# TYPE workqueue_depth gauge
workqueue_depth{controller="memcached",name="memcached",priority="0"} 3
workqueue_depth{controller="myapp",name="myapp",priority="0"} 1
# TYPE go_memstats_heap_alloc_bytes gauge
go_memstats_heap_alloc_bytes 1.5e+07
`

func TestParseMetrics(t *testing.T) {
	t.Parallel()
	got, err := parseMetrics(strings.NewReader(scraped))
	if err != nil {
		t.Fatal(err)
	}
	if want := (metricsOf{reconciles: 42, queued: 3, heap: 1.5e7}); got != want {
		t.Errorf("parseMetrics() = %+v, want %+v", got, want)
	}
	for name, text := range map[string]string{"Nothing": "", "NoMetrics": "404 page not found\n"} {
		if _, err := parseMetrics(strings.NewReader(text)); err == nil {
			t.Errorf("%s: parseMetrics() takes it for metrics", name)
		}
	}
}
