package binaries

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// killDelay is how long an interrupted go command may take to clean up after itself.
const killDelay = 5 * time.Second

// flags are those of each go command; `go list` has to be given the same as `go build` to see the same cache entries.
func (m module) flags() []string {
	flags := []string{"-trimpath", "-buildvcs=false", "-ldflags", m.ldflags}
	if m.tags != "" {
		flags = append(flags, "-tags", m.tags)
	}
	return flags
}

// goEnvironment is the caller's environment without what would make the build another one. Where modules come from
// (GOPROXY and its like) and where caches are stays as the caller has it.
func goEnvironment(environ []string, tmp string) []string {
	drop := []string{
		"GOAMD64", "GOARM", "GOARM64", "GOEXPERIMENT", "GODEBUG", "GOFIPS140", "PWD",
	}
	env := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(drop, name)
	})
	return append(env, // The last entry of a name counts.
		// Not empty: an empty one lets a setting of `go env -w` through.
		"GOFLAGS=-mod=readonly", "GOWORK=off", "GOTOOLCHAIN=auto", "GO111MODULE=on", "CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOTMPDIR="+tmp)
}

// run runs the go command in a module, hands each line of its standard error on, and returns its standard output.
// When ctx ends, the command and all it has started are ended.
func (b *builder) run(ctx context.Context, m module, args []string, line func(string)) (string, error) {
	cmd := exec.CommandContext(ctx, b.goTool, args...)
	cmd.Dir = b.dir(m)
	cmd.Env = goEnvironment(b.environ, b.work.dir)
	cmd.WaitDelay = killDelay
	inOwnGroup(cmd)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	reader, writer := io.Pipe()
	cmd.Stderr = writer

	var last []string
	read := make(chan struct{})
	go func() {
		defer close(read)
		last = eachLine(reader, line)
	}()
	err := runBound(cmd)
	_ = writer.Close()
	<-read
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		err = fmt.Errorf("go %s failed: %w", args[0], err)
		return "", explainBuild(err, last, filepath.Dir(b.work.dir), b.need)
	}
	return stdout.String(), nil
}

// eachLine calls line for each line and returns the last ones, which have the reason of a failure.
func eachLine(r io.Reader, line func(string)) (last []string) {
	const keep = 200
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if line != nil {
			line(scanner.Text())
		}
		if last = append(last, scanner.Text()); len(last) > keep {
			last = last[1:]
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		_, _ = io.Copy(io.Discard, r) // Or the command would block on a full pipe.
	}
	return last
}
