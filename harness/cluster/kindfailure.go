package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/kind/pkg/cluster/nodes"
	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// quiet is how long no node must come before all are taken to be removed.
const quiet = 2 * time.Second

// failed turns the failure of a start into a StartError with the last lines of the node at fault, exports the logs when
// somebody wants them, and takes everything down.
func (s *kindSite) failed(ctx context.Context, err error) error {
	e := &StartError{Level: s.Level, Err: err}
	run, ran := errors.AsType[*kindexec.RunError](err)
	if ran {
		// kind's own words for this are the command line and its exit code.
		e.Err = fmt.Errorf("%w: %s", err, lastLine(string(run.Output)))
	}
	if !errors.Is(err, context.Canceled) {
		s.blame(ctx, e, run)
		e.Advice = advice(err.Error() + "\n" + strings.Join(e.Log, "\n"))
		if s.FailureLogs != "" {
			if err := s.logs(ctx, s.FailureLogs); err != nil {
				e.Err = errors.Join(e.Err, fmt.Errorf("writing logs: %w", err))
			}
		}
	}
	if err := errors.Join(s.removeLatecomers(ctx), s.takeDown(ctx)); err != nil {
		e.Err = errors.Join(e.Err, fmt.Errorf("taking down what had started: %w", err))
	}
	return e
}

// blame finds the node on which a command failed, or the control plane, and how its log ends.
func (s *kindSite) blame(ctx context.Context, e *StartError, run *kindexec.RunError) {
	all, err := s.provider.ListNodes(s.Name)
	if err != nil || len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b nodes.Node) int { return strings.Compare(a.String(), b.String()) })
	at := all[0] // The control plane comes before the workers.
	if run != nil {
		for _, node := range all {
			if slices.Contains(run.Command, node.String()) {
				at = node
			}
		}
		e.Log = lastLines(string(run.Output), tailLines)
	}
	e.Component = at.String()
	e.Log = append(e.Log, nodeLog(ctx, at)...)
}

// nodeLog is how the log of a node's kubelet ends, or its console when it does not run.
func nodeLog(ctx context.Context, node nodes.Node) []string {
	log, err := askDocker(ctx, "exec", node.String(), "journalctl", "--unit=kubelet", "--no-pager", "--output=cat", fmt.Sprintf("--lines=%d", tailLines))
	if err == nil && log != "" {
		return lastLines(log, tailLines)
	}
	var console bytes.Buffer
	if err := node.SerialLogs(&console); err != nil {
		return nil // The error at hand matters more.
	}
	return lastLines(console.String(), tailLines)
}

// removeLatecomers removes nodes until none has come for a while: of those that kind starts side by side it does not
// await the others when one has failed.
func (s *kindSite) removeLatecomers(ctx context.Context) error {
	tick := time.NewTicker(removeEvery)
	defer tick.Stop()
	quietSince := time.Now()
	for time.Since(quietSince) < quiet {
		left, err := s.provider.ListNodes(s.Name)
		if err == nil && len(left) > 0 {
			quietSince = time.Now()
			err = removeContainers(ctx, nodesOf(s.Name))
		}
		if err != nil {
			return err
		}
		<-tick.C
	}
	return nil
}
