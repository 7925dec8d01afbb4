package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// restful is the share of a core that a cluster takes at rest, and some more.
	restful     = 0.25
	restTimeout = 2 * time.Minute
)

// cpuTimes are the CPU seconds that each component of a site has taken. They tell where time goes, and hardly depend on
// what else the machine does.
type cpuTimes map[string]float64

// cpu reads the times of the cluster's processes and of this process, which is every client.
func (st *site) cpu() (cpuTimes, error) {
	processes, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	times := cpuTimes{}
	home := filepath.Dir(st.Kubeconfig())
	for _, process := range processes {
		line, err := process.CmdLine()
		if err != nil || !slices.ContainsFunc(line, func(arg string) bool { return strings.Contains(arg, home) }) {
			continue // It has ended, or is somebody else's.
		}
		if stat, err := process.Stat(); err == nil {
			times[filepath.Base(line[0])] += stat.CPUTime()
		}
	}
	self, err := procfs.Self()
	if err != nil {
		return nil, fmt.Errorf("looking at this process: %w", err)
	}
	stat, err := self.Stat()
	if err != nil {
		return nil, fmt.Errorf("looking at this process: %w", err)
	}
	times["client"] = stat.CPUTime()
	return times, nil
}

// rest waits until the cluster has finished what the last trial left it to do, such as collecting garbage.
func (st *site) rest(ctx context.Context) error {
	before, err := st.cpu()
	if err != nil {
		return err
	}
	var used float64
	err = wait.PollUntilContextTimeout(ctx, time.Second, restTimeout, false, func(context.Context) (bool, error) {
		now, err := st.cpu()
		if err != nil {
			return false, err
		}
		used, before = now.since(before).total(), now
		return used < restful, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the cluster to come to rest, which still takes %.2f of a core: %w", used, err)
	}
	return nil
}

// cpuWith is cpu with the time of a manager, if there is one.
func (st *site) cpuWith(m *manager) (cpuTimes, error) {
	times, err := st.cpu()
	if err != nil || m == nil {
		return times, err
	}
	used, err := m.usage()
	times["manager"] = used.cpu
	return times, err
}

// since is what has been added to before.
func (c cpuTimes) since(before cpuTimes) cpuTimes {
	more := cpuTimes{}
	for name, seconds := range c {
		more[name] = seconds - before[name]
	}
	return more
}

func (c cpuTimes) total() (seconds float64) {
	for _, s := range c {
		seconds += s
	}
	return seconds
}

// String lists the times by name.
func (c cpuTimes) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f CPU seconds", c.total())
	for i, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%s %s %.1f", map[bool]string{true: ":", false: ","}[i == 0], name, c[name])
	}
	return b.String()
}
