package binaries

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Command is what a user runs to get every program in place.
const Command = "go run github.com/example-inc/memcached-operator/harness/cmd/binaries"

// NotFoundError says which tools could not be had, where they were looked for, and what to do about it.
type NotFoundError struct {
	// Tools are those that are missing.
	Tools []Tool
	// Searched has one line for each place that was tried.
	Searched []string
	// Err is why the last resort, the build from source, failed.
	Err error
}

// Error lists what was tried and ends with the command that helps.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s not found: %v\n  looked in %s\n  to fix it, cure the cause above and run: %s %s",
		join(e.Tools), e.Err, strings.Join(e.Searched, "\n  looked in "), Command, strings.ReplaceAll(join(e.Tools), ",", ""))
}

// Unwrap returns the cause.
func (e *NotFoundError) Unwrap() error { return e.Err }

// notFound describes a failure; an interrupted search is reported as just that.
func (f *finder) notFound(ctx context.Context, missing []Tool, why reasons, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("making %s was stopped: %w", join(missing), cause)
	}
	searched := make([]string, 0, len(missing)+3)
	for _, tool := range missing {
		searched = append(searched, fmt.Sprintf("$%s (not set), %s", tool.variable(), f.cached(tool)))
	}
	assets := f.env(assetsVariable)
	if assets == "" {
		assets = "not set"
	}
	searched = append(searched, fmt.Sprintf("$%s (%s)", assetsVariable, assets), "downloads: "+why.String(), "a build from source: see above")
	return &NotFoundError{Tools: missing, Searched: searched, Err: err}
}

// spaceError is the one line for a full disk.
func spaceError(dir string, need uint64) error {
	return fmt.Errorf("the disk that holds %s is full: this needs about %s there; free some, or set HARNESS_CACHE_DIR and GOCACHE to another disk: %w",
		dir, size(need), syscall.ENOSPC)
}

// explainWrite turns a failed write into one clear line when the disk is full.
func explainWrite(err error, dir string, need uint64) error {
	if errors.Is(err, syscall.ENOSPC) {
		return spaceError(dir, need)
	}
	return err
}

// explainBuild turns what the go command said into one clear line, where the cause is a known one.
func explainBuild(err error, output []string, dir string, need uint64) error {
	text := strings.Join(output, "\n")
	if strings.Contains(text, syscall.ENOSPC.Error()) {
		return spaceError(dir, need)
	}
	for _, sign := range []string{"dial tcp", "no such host", "proxyconnect", "i/o timeout", "TLS handshake", "GOPROXY list", "GOPROXY=off", "Forbidden", "Service Unavailable", "git ls-remote"} {
		if line := lineWith(output, sign); line != "" {
			return fmt.Errorf("module sources cannot be fetched; set GOPROXY to a module proxy that this machine reaches: %s: %w", line, err)
		}
	}
	if len(output) > 12 {
		output = output[len(output)-12:]
	}
	return fmt.Errorf("%w:\n%s", err, strings.Join(output, "\n"))
}

func lineWith(lines []string, part string) string {
	for _, line := range lines {
		if strings.Contains(line, part) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func join(tools []Tool) string {
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = string(tool)
	}
	return strings.Join(names, ", ")
}

// size prints bytes for people.
func size(n uint64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20)
}

// say prints one line of progress.
func (f *finder) say(format string, args ...any) {
	fmt.Fprintf(f.out, "harness: "+format+"\n", args...)
}
