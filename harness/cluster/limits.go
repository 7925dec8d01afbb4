package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// inotifyNeeds are what the kernel must allow each user, for a cluster of some nodes on top of what else runs. Below them
// a node's systemd or kubelet fails with "too many open files", which is hard to read (kind#2586, kind#3317).
func inotifyNeeds(nodes int) map[string]int {
	return map[string]int{
		"max_user_instances": 32 + 24*nodes,
		"max_user_watches":   2048 + 2048*nodes,
	}
}

// checkLimits compares what a cluster of some nodes needs with the kernel's limits in dir. Where they cannot be read, on
// another system or with an engine elsewhere, the engine's own machine has others, and nothing is said.
func checkLimits(dir string, nodes int) error {
	if host := os.Getenv("DOCKER_HOST"); host != "" && !strings.HasPrefix(host, "unix://") {
		return nil
	}
	needs := inotifyNeeds(nodes)
	for _, name := range []string{"max_user_instances", "max_user_watches"} {
		data, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // Below /proc/sys.
		if err != nil {
			continue
		}
		if limit, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && limit < needs[name] {
			return fmt.Errorf("fs.inotify.%s is %d and %d nodes need %d: raise it by: sysctl -w fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288",
				name, limit, nodes, needs[name])
		}
	}
	return nil
}
