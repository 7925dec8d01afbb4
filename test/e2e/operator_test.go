package e2e_test

import (
	"context"
	"fmt"
	"syscall"

	"github.com/example-inc/memcached-operator/harness/cluster"
	program "github.com/example-inc/memcached-operator/test/operator"
)

// replicas is how many managers run, as config/default says: one leads, one stands by.
const replicas = 2

// operator is the operator that is shown, however it runs.
type operator interface {
	// Deploy installs it, and returns once all replicas are ready and one leads.
	Deploy(ctx context.Context) error
	// Down ends all replicas, and returns when they have ended. Up starts them again, and returns as Deploy does.
	Down(ctx context.Context) error
	Up(ctx context.Context) error
	// KillLeader sends the leader a signal, and returns at once.
	KillLeader(ctx context.Context, sig syscall.Signal) error
	// Upgrade replaces one replica after the other by the next version, and returns once that is done.
	Upgrade(ctx context.Context) error
	// Metrics calls ask with an address of each replica's metrics in turn.
	Metrics(ctx context.Context, ask func(address string) error) error
	// Log is what each replica that runs has logged, by its name.
	Log(ctx context.Context) (map[string]string, error)
	// Undeploy is make undeploy. Nothing must be left of it.
	Undeploy(ctx context.Context) error
	// Remove ends what is left at the end of the run, whatever has become of it.
	Remove(ctx context.Context) error
}

// newOperator chooses how the operator runs: in pods, or beside the cluster where there are no containers.
func newOperator(s *site) operator {
	if s.Has(cluster.Containers) {
		return &podsOperator{site: s}
	}
	return &processes{site: s}
}

// awaitLeader waits until somebody leads who is not former.
func (s *site) awaitLeader(ctx context.Context, former string) error {
	return await(ctx, "a leader to be elected", func(ctx context.Context) (string, bool, error) {
		holder, err := program.Leader(ctx, s.client, systemNamespace)
		return fmt.Sprintf("the Lease's holder is %q", holder), holder != "" && holder != former, err
	})
}
