package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// retryEvery is how long to wait after a server that could not be asked.
const retryEvery = 200 * time.Millisecond

// fetcher says how to ask.
type fetcher struct {
	timeout, within time.Duration
	insecure        bool
	tokenFile       string
	statusOnly      bool
}

func fetchCommand() *cobra.Command {
	var f fetcher
	cmd := &cobra.Command{
		Use:   "fetch URL",
		Short: "Get a URL and print the body; fail unless the status is 2xx",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), cmd.OutOrStdout(), args[0]) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.timeout, "timeout", 5*time.Second, "how long one request may take")
	flags.DurationVar(&f.within, "within", 0, "go on trying for so long while there is no answer, or none with status 2xx")
	flags.BoolVar(&f.insecure, "insecure", false, "accept any certificate")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with a bearer token to send")
	flags.BoolVar(&f.statusOnly, "status", false, "print the status code instead of the body, and accept any")
	return cmd
}

func (f fetcher) run(ctx context.Context, out io.Writer, url string) error {
	deadline := time.Now().Add(f.within)
	for {
		err := f.once(ctx, out, url)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func (f fetcher) once(ctx context.Context, out io.Writer, url string) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("fetching: %w", err)
	}
	if f.tokenFile != "" {
		token, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return fmt.Errorf("fetching %s: %w", url, err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	// A connection of its own: one that is kept would lead to the same pod again.
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: f.insecure}, //nolint:gosec // Where it is asked for.
	}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("fetching: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("fetching %s: %w", url, err)
	}
	if f.statusOnly {
		_, err := fmt.Fprintln(out, response.StatusCode)
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("fetching %s: %s: %s", url, response.Status, strings.TrimSpace(string(body)))
	}
	_, err = out.Write(body)
	return err
}
