// Command cluster runs a test cluster: around a command, so that all its test processes share one control plane, or in the
// foreground until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/harness/nodeimage"
)

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs the command line and returns the exit code.
func execute(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	exit, ran := errors.AsType[exitCode](err)
	if !ran {
		exit = 1
	}
	if err != error(exit) { //nolint:errorlint // More went wrong than the command, which speaks for itself.
		fmt.Fprintln(os.Stderr, "cluster:", err)
	}
	return int(exit)
}

// exitCode is the code of a command that ran and failed, which has said itself why.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "Run a Kubernetes test cluster that leaves nothing behind",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), upCommand(), checkCommand(), deleteCommand())
	return root
}

func runCommand() *cobra.Command {
	var o cluster.Options
	var logs string
	cmd := &cobra.Command{
		Use:   "run [flags] -- command [argument...]",
		Short: "Start a cluster, run a command with it, stop it, and exit with the command's code",
		Long: "Starts a cluster and runs the command with " + cluster.EnvKubeconfig + " and " + cluster.EnvLevel + " set: every\n" +
			"process that calls cluster.Start for the same level then joins this cluster instead of booting its own.",
		Example: "  cluster run --level envtest --crds config/crd -- go test ./test/envtest/...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTimes()
			o.Phase, o.FailureLogs = t.add, logs
			err := with(o, t, func(ctx context.Context, c cluster.Cluster) error {
				return judged(ctx, c, logs, t, func() error { return run(ctx, c, o.ExistingContext, args) })
			})
			t.print(os.Stderr)
			return err
		},
	}
	addFlags(cmd, &o, cluster.Envtest)
	cmd.Flags().StringVar(&logs, "logs", "", "directory that gets the cluster's logs when the start or the command fails")
	return cmd
}

func upCommand() *cobra.Command {
	var o cluster.Options
	cmd := &cobra.Command{
		Use:   "up [flags]",
		Short: "Start a cluster and keep it until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(o, newTimes(), func(ctx context.Context, c cluster.Cluster) error {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\n", c.Kubeconfig())
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "The cluster is up. Ctrl-C stops it and removes everything.")
				<-ctx.Done()
				return nil
			})
		},
	}
	addFlags(cmd, &o, cluster.Kwok)
	return cmd
}

func addFlags(cmd *cobra.Command, o *cluster.Options, level cluster.Level) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&o.Level), "level", string(level), "envtest, kwok, kind or existing")
	flags.StringArrayVar(&o.CRDPaths, "crds", nil, "file or directory of CRDs to install (repeatable)")
	flags.IntVar(&o.Nodes, "nodes", 0, "simulated nodes of the kwok level (default 3)")
	flags.StringVar(&o.Name, "name", "", `name in the run directory's name, and of a kind cluster (default "harness")`)
	flags.StringVar(&o.KindConfig, "config", "", "kind's configuration of the kind level (default one node)")
	flags.StringVar(&o.NodeImage, "node-image", "", "image of the kind level's nodes (default one that is pulled, or built from source)")
	flags.StringArrayVar(&o.ImageArchives, "load", nil, "image archive to load onto all nodes of the kind level (repeatable)")
	flags.StringVar((*string)(&o.Keep), "keep", "", "keep the kind level's cluster: always or on-failure")
	flags.StringToStringVar(&o.APIServerFlags, "apiserver-flag", nil, "further flag of kube-apiserver as name=value (repeatable)")
	flags.StringVar(&o.ExistingKubeconfig, "kubeconfig", "", "kubeconfig of the existing level")
	flags.StringVar(&o.ExistingContext, "context", "", "context of the existing level")
}

// with starts a cluster, calls use, and stops the cluster. A signal ends the start, or the context of use.
func with(o cluster.Options, t *times, use func(context.Context, cluster.Cluster) error) error {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	o.MakeNodeImage = func(ctx context.Context) (string, error) { return nodeimage.Ensure(ctx, nodeimage.Options{}) }
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return err
	}
	useErr := use(ctx, c)
	stopped := t.begin("stop")
	// The signal that ended use has been heeded; the end itself takes its own time.
	if err := c.Stop(context.WithoutCancel(ctx)); err != nil {
		return errors.Join(useErr, err)
	}
	stopped()
	return useErr
}
