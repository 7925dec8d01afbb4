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
)

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs the command line and returns the exit code.
func execute(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	var exit exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	default:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		return 1
	}
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
	root.AddCommand(runCommand(), upCommand())
	return root
}

func runCommand() *cobra.Command {
	var o cluster.Options
	cmd := &cobra.Command{
		Use:   "run [flags] -- command [argument...]",
		Short: "Start a cluster, run a command with it, stop it, and exit with the command's code",
		Long: "Starts a cluster and runs the command with " + cluster.EnvKubeconfig + " and " + cluster.EnvLevel + " set: every\n" +
			"process that calls cluster.Start for the same level then joins this cluster instead of booting its own.",
		Example: "  cluster run --level envtest --crds config/crd -- go test ./test/envtest/...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return with(o, func(ctx context.Context, c cluster.Cluster) error { return run(ctx, c, o.ExistingContext, args) })
		},
	}
	addFlags(cmd, &o, cluster.Envtest)
	return cmd
}

func upCommand() *cobra.Command {
	var o cluster.Options
	cmd := &cobra.Command{
		Use:   "up [flags]",
		Short: "Start a cluster and keep it until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(o, func(ctx context.Context, c cluster.Cluster) error {
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
	flags.StringVar((*string)(&o.Level), "level", string(level), "envtest, kwok or existing")
	flags.StringArrayVar(&o.CRDPaths, "crds", nil, "file or directory of CRDs to install (repeatable)")
	flags.IntVar(&o.Nodes, "nodes", 0, "simulated nodes of the kwok level (default 3)")
	flags.StringVar(&o.Name, "name", "", `name in the run directory's name (default "harness")`)
	flags.StringToStringVar(&o.APIServerFlags, "apiserver-flag", nil, "further flag of kube-apiserver as name=value (repeatable)")
	flags.StringVar(&o.ExistingKubeconfig, "kubeconfig", "", "kubeconfig of the existing level")
	flags.StringVar(&o.ExistingContext, "context", "", "context of the existing level")
}

// with starts a cluster, calls use, and stops the cluster. A signal ends the start, or the context of use.
func with(o cluster.Options, use func(context.Context, cluster.Cluster) error) error {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return err
	}
	useErr := use(ctx, c)
	// The signal that ended use has been heeded; the end itself takes its own time.
	if err := c.Stop(context.WithoutCancel(ctx)); err != nil {
		return errors.Join(useErr, err)
	}
	return useErr
}
