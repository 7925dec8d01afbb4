package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

const (
	// logTail is how many of the operator's last lines are shown after a failure.
	logTail      = 15
	explainLimit = 10 * time.Second
)

// invite tells how to reach the cluster that stays up.
func (w *world) invite(out io.Writer) {
	_, _ = fmt.Fprintf(out, `
Everything is up. In another terminal:

    export KUBECONFIG=%s
    alias kubectl=%s
    kubectl get memcacheds,myapps
    kubectl scale memcached %s --replicas 5

The operator logs to %s.
Ctrl-C takes everything down.
`, w.cluster.Kubeconfig(), w.paths[binaries.Kubectl], w.samples.memcacheds[0].Name, w.operator.Log)
}

// explain shows what is known after a failure: each sample's conditions and the end of the operator's log.
func (w *world) explain(ctx context.Context, out io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, explainLimit)
	defer cancel()
	if w.client != nil && w.readSamples(ctx) == nil {
		for _, mc := range w.samples.memcacheds {
			explainConditions(out, "Memcached "+mc.Name, mc.Status.Conditions)
		}
		for _, app := range w.samples.myapps {
			explainConditions(out, "MyApp "+app.Name, app.Status.Conditions)
		}
	}
	if w.operator == nil {
		return
	}
	log, err := os.ReadFile(w.operator.Log)
	if err != nil {
		_, _ = fmt.Fprintln(out, "  the operator's log cannot be read:", err)
		return
	}
	_, _ = fmt.Fprintln(out, "  the operator's last log lines:")
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(log)), "\n"), func(line string) bool {
		return strings.Contains(line, "healthz check failed") // It is the demo that asks.
	})
	for _, line := range lines[max(0, len(lines)-logTail):] {
		_, _ = fmt.Fprintln(out, "    "+line)
	}
}

func explainConditions(out io.Writer, name string, conditions []metav1.Condition) {
	if len(conditions) == 0 {
		_, _ = fmt.Fprintf(out, "  %s has no conditions\n", name)
	}
	for _, c := range conditions {
		_, _ = fmt.Fprintf(out, "  %s: %s=%s (%s) %s\n", name, c.Type, c.Status, c.Reason, c.Message)
	}
}
