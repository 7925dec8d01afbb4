package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

func deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete name",
		Short: "Delete a cluster of the kind level that was kept",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cluster.Delete(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "cluster %s is deleted\n", args[0])
			return nil
		},
	}
}

func checkCommand() *cobra.Command {
	var o cluster.Options
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Tell whether a kind cluster could be started, before images are made for it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cluster.Check(cmd.Context(), o) },
	}
	addFlags(cmd, &o, cluster.Kind)
	return cmd
}
