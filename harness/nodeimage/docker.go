package nodeimage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// answerTimeout is how long the engine may take for a question that costs it nothing.
const answerTimeout = 10 * time.Second

// engine is the Docker engine, by way of its command.
type engine struct{ command string }

// check says in one line what is missing.
func (e engine) check(ctx context.Context) error {
	if _, err := exec.LookPath(e.command); err != nil {
		return fmt.Errorf("a kind cluster needs Docker, and %s is not in PATH: install Docker, or choose a level that needs none: %w", e.command, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("no answer within %s", answerTimeout))
	defer cancel()
	if _, err := e.run(ctx, nil, "version", "--format", "{{.Server.Version}}"); err != nil {
		return fmt.Errorf("the Docker engine does not answer: start it, or let this user talk to it: %w", err)
	}
	return nil
}

// has says whether the engine has an image. Why it has not does not matter: check has been asked before.
func (e engine) has(ctx context.Context, ref string) bool {
	_, err := e.run(ctx, nil, "image", "inspect", "--format", "{{.Id}}", ref)
	return err == nil
}

// run runs one docker command and returns what it prints.
func (e engine) run(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, e.command, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", explain(ctx, args[0], stderr.String(), err)
	}
	return strings.TrimSpace(stdout.String()), nil
}

// stream runs one docker command and calls line for each line it prints, as it prints it.
func (e engine) stream(ctx context.Context, line func(string), args ...string) error {
	cmd := exec.CommandContext(ctx, e.command, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("running docker %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running docker %s: %w", args[0], err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		line(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		return explain(ctx, args[0], stderr.String(), err)
	}
	return nil
}

// explain makes one line of a failed command: the reason to stop, or the last thing the engine said.
func explain(ctx context.Context, verb, stderr string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("docker %s: %w", verb, cause)
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		err = errors.New(last)
	}
	return fmt.Errorf("docker %s: %w", verb, err)
}
