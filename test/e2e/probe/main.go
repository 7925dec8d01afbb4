// Command probe is the one program of the test images: what a MyApp runs, and what asks servers from inside the cluster,
// where no image has a shell.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to be stopped.
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:               "probe",
		Short:             "Answer requests, and ask servers, in tests of a cluster",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(serveCommand(), fetchCommand(), memcachedCommand())
	return root
}
