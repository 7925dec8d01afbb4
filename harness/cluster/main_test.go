package cluster

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// childMode makes this test binary play a test process that comes to a bad end; see leftovers_test.go.
const childMode = "CLUSTER_TEST_CHILD"

// sharedEnvtest and sharedKwok are started by the first test that needs them and stopped after the last.
var (
	sharedEnvtest = sync.OnceValues(func() (Cluster, error) { return Start(context.Background(), Options{Level: Envtest}) }) //nolint:forbidigo // It outlives every test.
	sharedKwok    = sync.OnceValues(func() (Cluster, error) { return Start(context.Background(), Options{Level: Kwok}) })    //nolint:forbidigo // It outlives every test.

	sharedMu sync.Mutex
	started  []Cluster
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" && mode != "timeout" {
		os.Exit(playChild(mode))
	}
	if os.Getenv(childMode) == "timeout" {
		// Before the run, so that a slow start does not use up the time.
		c, err := sharedEnvtest()
		fmt.Println("up", c, err)
	}
	code := m.Run()
	for _, c := range started {
		begin := time.Now()
		if err := c.Stop(context.Background()); err != nil { //nolint:forbidigo // There is no test any more.
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		fmt.Fprintf(os.Stderr, "%s: stopped (%.1f s)\n", c.Level(), time.Since(begin).Seconds())
	}
	os.Exit(code)
}

// shared returns a cluster that tests share.
func shared(t *testing.T, level Level) Cluster {
	t.Helper()
	start := sharedEnvtest
	if level == Kwok {
		start = sharedKwok
	}
	sharedMu.Lock()
	defer sharedMu.Unlock()
	c, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(started, c) {
		started = append(started, c)
	}
	return c
}

// eventually waits until is reports true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), pollEvery, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}
