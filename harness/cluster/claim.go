package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// claimTimeout limits the making of a claim: the engine makes and runs one small container.
	claimTimeout = time.Minute
	// claimLabel is on the container by which a cluster's name is claimed, with that name.
	claimLabel = "harness.cluster"
	// runDirLabel is there too, with the run directory of the claim's owner.
	runDirLabel = "harness.run-dir"
	// nodeLabel is what kind puts on a cluster's nodes, with the cluster's name.
	nodeLabel = "io.x-k8s.kind.cluster"
	// deleteCommand deletes a cluster by its name.
	deleteCommand = "go run github.com/example-inc/memcached-operator/harness/cmd/cluster delete "
)

// clusterName is what kind accepts, and what makes a container's name.
var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// claimName names the container that claims a cluster's name.
func claimName(cluster string) string { return cluster + "-claim" }

// claim takes a cluster's name, by a container that only one of several processes can make, whoever's they are. It has
// ended when this returns, and shows meanwhile that the engine grants what nodes need, and what the image is: the
// Kubernetes version of its nodes is returned. Whatever has the cluster's name afterwards is the claim's owner's to delete.
func claim(ctx context.Context, cluster, image, runDir string) (version string, err error) {
	if err := nameIsFree(ctx, cluster); err != nil {
		return "", err
	}
	// Made or not, within a moment: a claim that is given up halfway could appear after it was looked for.
	sure, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	look := []string{"--network=none", "--entrypoint=cat", image, "/kind/version"}
	version, err = docker(sure, append([]string{"run", "--name=" + claimName(cluster), "--privileged", "--userns=host",
		"--label=" + claimLabel + "=" + cluster, "--label=" + runDirLabel + "=" + runDir}, look...)...)
	switch {
	case err == nil:
		return version, nil
	case strings.Contains(err.Error(), "is already in use by container"):
		return "", taken(cluster)
	}
	return "", errors.Join(refused(ctx, image, err, look), removeContainers(sure, ownedBy(runDir)))
}

// refused finds out why a privileged container of a node image could not be run.
func refused(ctx context.Context, image string, err error, look []string) error {
	if _, plain := docker(ctx, append([]string{"run", "--rm"}, look...)...); plain == nil {
		return fmt.Errorf("the Docker engine refuses privileged containers, which kind's nodes are (%w): use an engine that grants them", err)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != 125 { // 125 is the engine's own failure, the rest the command's.
		return fmt.Errorf("%s is not a kind node image, it has no /kind/version (%w): name one that is", image, err)
	}
	return fmt.Errorf("the Docker engine cannot run the node image %s (%w): see to that first", image, err)
}

// nameIsFree tells whether no nodes have the name of a cluster, and nobody has claimed it.
func nameIsFree(ctx context.Context, cluster string) error {
	nodes, err := askDocker(ctx, "ps", "--all", "--quiet", "--filter="+nodesOf(cluster))
	if err != nil {
		return fmt.Errorf("looking for nodes of a cluster %s: %w", cluster, err)
	}
	_, claimed, err := claimOf(ctx, cluster)
	switch {
	case err != nil:
		return err
	case claimed:
		return taken(cluster)
	case nodes != "":
		return fmt.Errorf("a cluster %q that this harness did not make is there already: choose another name, or delete it by: kind delete cluster --name %[1]s", cluster)
	}
	return nil
}

func taken(cluster string) error {
	return fmt.Errorf("a cluster %q is there already, kept or in use: choose another name, or delete it by: %s%[1]s", cluster, deleteCommand)
}

// claimOf returns the run directory of whoever has claimed a cluster's name.
func claimOf(ctx context.Context, cluster string) (runDir string, claimed bool, err error) {
	out, err := askDocker(ctx, "ps", "--all", "--filter=label="+claimLabel+"="+cluster, "--format={{.ID}} {{.Label \""+runDirLabel+"\"}}")
	if err != nil {
		return "", false, fmt.Errorf("looking for the claim of cluster %s: %w", cluster, err)
	}
	_, runDir, claimed = strings.Cut(out, " ")
	return runDir, claimed, nil
}

// removeContainers removes the containers that filters find, in their order.
func removeContainers(ctx context.Context, filters ...string) error {
	for _, filter := range filters {
		ids, err := askDocker(ctx, "ps", "--all", "--quiet", "--filter="+filter)
		if err != nil {
			return fmt.Errorf("looking for containers with %s: %w", filter, err)
		}
		if ids == "" {
			continue
		}
		if _, err := docker(ctx, append([]string{"rm", "--force", "--volumes"}, strings.Fields(ids)...)...); err != nil {
			return fmt.Errorf("removing containers with %s: %w", filter, err)
		}
	}
	return nil
}

// nodesOf finds a cluster's nodes, ownedBy the claim of a run directory's owner. The claim goes last, because until then
// nobody else can have the name.
func nodesOf(cluster string) string { return "label=" + nodeLabel + "=" + cluster }
func ownedBy(runDir string) string  { return "label=" + runDirLabel + "=" + runDir }

// Delete deletes a cluster of the Kind level that was kept, or that a process left behind, with its run directory. One
// that this package did not make is left alone.
func Delete(ctx context.Context, name string) error {
	if _, err := engineAnswers(ctx); err != nil {
		return fmt.Errorf("deleting cluster %s: %w", name, err)
	}
	runDir, claimed, err := claimOf(ctx, name)
	if err == nil && !claimed {
		err = errors.New("this harness has made no cluster of that name, and deletes no other")
	}
	if err != nil {
		return fmt.Errorf("deleting cluster %s: %w", name, err)
	}
	if err := removeContainers(ctx, nodesOf(name), ownedBy(runDir)); err != nil {
		return fmt.Errorf("deleting cluster %s: %w", name, err)
	}
	if strings.HasPrefix(filepath.Base(runDir), dirPrefix) {
		return os.RemoveAll(runDir)
	}
	return nil
}
