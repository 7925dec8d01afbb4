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
