package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// A node takes this much of the kernel's limits of inotify, with some room: a control plane was seen with 27 instances,
	// a worker with 14.
	instancesPerNode, instancesPerCluster = 16, 16
	watchesPerNode                        = 2048
	// raise is the command that raises both.
	raise = "sysctl -w fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
)

// checkLimits compares what a cluster of some nodes needs with what the kernel's limits in dir leave. Beyond them a node's
// systemd or kubelet fails with "too many open files", which is hard to read (kind#2586, kind#3317). Where they cannot
// be read, on another system or with an engine elsewhere, the engine's own machine has others, and nothing is said.
func checkLimits(dir string, nodes int) error {
	if host := os.Getenv("DOCKER_HOST"); host != "" && !strings.HasPrefix(host, "unix://") {
		return nil
	}
	for _, limit := range []struct {
		name        string
		used, needs int
	}{
		{name: "max_user_instances", used: instancesInUse("/proc"), needs: instancesPerCluster + instancesPerNode*nodes},
		{name: "max_user_watches", needs: watchesPerNode * nodes},
	} {
		data, err := os.ReadFile(filepath.Join(dir, limit.name)) //nolint:gosec // Below /proc/sys.
		if err != nil {
			continue
		}
		if most, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && most < limit.used+limit.needs {
			return fmt.Errorf("fs.inotify.%s is %d, of which %d are in use, and %d nodes need %d: end other clusters, or raise it by: %s",
				limit.name, most, limit.used, nodes, limit.needs, raise)
		}
	}
	return nil
}

// instancesInUse counts root's inotify instances, as far as this process may see them: the nodes are root's.
func instancesInUse(proc string) (count int) {
	processes, _ := filepath.Glob(filepath.Join(proc, "[0-9]*")) // The pattern is well-formed.
	for _, process := range processes {
		info, err := os.Stat(process)
		if err != nil {
			continue // It has ended.
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
			continue
		}
		files, _ := os.ReadDir(filepath.Join(process, "fd")) // As before, or another user may not look.
		for _, file := range files {
			if target, err := os.Readlink(filepath.Join(process, "fd", file.Name())); err == nil && target == "anon_inode:inotify" {
				count++
			}
		}
	}
	return count
}
