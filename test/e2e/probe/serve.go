package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
)

const (
	envPort    = "PORT"
	envVariant = "PROBE_VARIANT"

	defaultPort = "8080"
	// shutdownLimit is for the requests that are being answered when the server is told to end.
	shutdownLimit = 10 * time.Second
)

// answer is what the server says about itself.
type answer struct {
	// Pod is the name of the pod, which is its host name.
	Pod string `json:"pod"`
	// Variant tells images of this program apart.
	Variant string `json:"variant"`
	// Env has those variables of the request's env parameters that are set.
	Env map[string]string `json:"env"`
}

func serveCommand() *cobra.Command {
	var port string
	var linger time.Duration
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer each HTTP request with the pod's name, the image's variant, and the variables that ?env=NAME asks for",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var config net.ListenConfig
			listener, err := config.Listen(cmd.Context(), "tcp", ":"+port)
			if err != nil {
				return fmt.Errorf("serving: %w", err)
			}
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), "serving on", listener.Addr())
			return serve(cmd.Context(), listener, linger)
		},
	}
	cmd.Flags().StringVar(&port, "port", cmp.Or(os.Getenv(envPort), defaultPort), "port to serve on (default $"+envPort+", then "+defaultPort+")")
	cmd.Flags().DurationVar(&linger, "linger", time.Second, "how long to go on after SIGTERM, until no Service leads here any more")
	return cmd
}

// serve answers until ctx ends, and then as long as linger says: whoever has not heard yet that the pod ends still asks it.
func serve(ctx context.Context, listener net.Listener, linger time.Duration) error {
	server := &http.Server{Handler: http.HandlerFunc(describe), ReadHeaderTimeout: shutdownLimit}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), linger+shutdownLimit)
	defer cancel()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-time.After(linger):
	}
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("ending the server: %w", err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

func describe(w http.ResponseWriter, r *http.Request) {
	host, err := os.Hostname()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a := answer{Pod: host, Variant: os.Getenv(envVariant), Env: map[string]string{}}
	for _, name := range r.URL.Query()["env"] {
		if value, ok := os.LookupEnv(name); ok {
			a.Env[name] = value
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // A client that is gone needs no answer.
}
