package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// tailLines is how much of a component's log an error shows.
const tailLines = 20

// errEnded is the failure of a component that nobody would start again.
var errEnded = errors.New("it ended while it was starting")

// StartError says which component kept a cluster from starting, how its log ends, and what to do. What had been started
// was taken down again.
type StartError struct {
	// Level is the level that was to start.
	Level Level
	// Component is the one that failed, empty when no single one did.
	Component string
	// Log are its last log lines.
	Log []string
	// Advice is what to do.
	Advice string
	// Err is the cause, joined with what went wrong while taking down.
	Err error
}

func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "starting the %s level: ", e.Level)
	if e.Component != "" {
		fmt.Fprintf(&b, "%s failed: ", e.Component)
	}
	b.WriteString(e.Err.Error())
	if e.Advice != "" {
		fmt.Fprintf(&b, "\n  what to do: %s", e.Advice)
	}
	if len(e.Log) > 0 {
		fmt.Fprintf(&b, "\n  last lines of %s's log:\n    %s", e.Component, strings.Join(e.Log, "\n    "))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// componentError marks an error as the failure of one component.
type componentError struct {
	component string
	err       error
}

func (e *componentError) Error() string { return e.err.Error() }
func (e *componentError) Unwrap() error { return e.err }

func startError(level Level, err, cleanup error) error {
	if cleanup != nil {
		cleanup = fmt.Errorf("taking down what had started: %w", cleanup)
	}
	return &StartError{Level: level, Advice: advice(err.Error()), Err: errors.Join(err, cleanup)}
}

// failed turns err into a StartError with the log of the component at fault, while its run directory still exists.
func (r *runDir) failed(level Level, err error) *StartError {
	e := &StartError{Level: level, Err: err}
	if ce, ok := errors.AsType[*componentError](err); ok {
		e.Component = ce.component
		e.Log = tail(r.logPath(ce.component), tailLines)
	}
	e.Advice = advice(err.Error() + "\n" + strings.Join(e.Log, "\n"))
	if errors.Is(err, context.Canceled) {
		e.Advice = ""
	}
	return e
}

// advice knows the usual causes by their words.
func advice(text string) string {
	for _, known := range []struct{ sign, what string }{
		{"no space left on device", "free space in " + os.TempDir() + ", or point TMPDIR at a directory with more"},
		{"address already in use", "another process holds the port; end it or start again"},
		{"unknown flag", "correct the API server flags: this kube-apiserver does not know the one named in its log"},
		{"exec format error", "the binary is for another platform; remove it or correct KUBEBUILDER_ASSETS"},
		{"exec: ", "a binary vanished; look at KUBEBUILDER_ASSETS, or remove the cached binaries to have them made again"},
		{"permission denied", "make the binary executable, and " + os.TempDir() + " writable and not mounted noexec"},
		{"too many open files", "raise the limit of open files (ulimit -n)"},
		{"timeout waiting", "the machine may be too busy; raise StartTimeout if the log shows no error"},
		{"deadline exceeded", "the machine may be too busy; raise StartTimeout if the log shows no error"},
	} {
		if strings.Contains(text, known.sign) {
			return known.what
		}
	}
	return ""
}

// tail returns the last n lines of a file, none when it cannot be read: the error at hand matters more.
func tail(path string, n int) []string {
	data, err := os.ReadFile(path) //nolint:gosec // A log that this package made.
	if err != nil {
		return nil
	}
	return lastLines(string(data), n)
}

func lastLines(text string, n int) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}
