package cluster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// playChild is a test process that starts a cluster and then ends as mode says. It prints "up" when the cluster is up.
func playChild(mode string) int {
	ctx := context.Background() //nolint:forbidigo // A process of its own, not a test.
	o := Options{Level: Level(os.Getenv("CHILD_LEVEL"))}
	if mode == "cancelled" {
		var cancel context.CancelFunc
		ctx, cancel = signal.NotifyContext(ctx, syscall.SIGTERM)
		defer cancel()
	}
	if mode == "flag" {
		o.APIServerFlags = map[string]string{"no-such-flag": "1"}
	}
	if o.Level == Kind { // With the fake engine in PATH.
		o.Name, o.NodeImage, o.limits = "child", "some/node:v1.37.2", os.TempDir()
	}
	c, err := Start(ctx, o)
	if err != nil {
		fmt.Println("failed", err)
		if mode == "flag" {
			<-time.After(childLife) // Whoever started us looks at what is left while we live.
		}
		return 3
	}
	fmt.Println("up", c.Kubeconfig())
	switch mode {
	case "panic":
		panic("as the test asked")
	case "exit":
		return 7
	case "stop":
		if err := c.Stop(ctx); err != nil {
			fmt.Println("failed", err)
			return 3
		}
		fmt.Println("stopped")
	}
	<-time.After(childLife) // To be ended by a signal.
	return 0
}

// childLife ends a child that nobody ends.
const childLife = 5 * time.Minute

// TestEnvtestServes also is the test at which a child with a -test.timeout hangs.
func TestEnvtestServes(t *testing.T) {
	c := shared(t, Envtest)
	if err := awaitDefaultNamespace(t.Context(), c.Config(), 10*time.Second); err != nil {
		t.Error(err)
	}
	if os.Getenv(childMode) == "timeout" {
		<-time.After(childLife)
	}
}
