package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// askTimeout limits a question to the Docker engine.
const askTimeout = 15 * time.Second

// docker runs the engine's command and returns what it prints, without the white space around it. It is not in the
// terminal's foreground group, so that Ctrl-C does not end a clean-up.
func docker(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", args...) //nolint:gosec // Fixed commands with the caller's names.
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("running docker %s: %w", args[0], context.Cause(ctx))
	case err != nil:
		return "", &dockerError{command: args[0], said: lastLine(stderr.String()), err: err}
	}
	return strings.TrimSpace(stdout.String()), nil
}

// askDocker is docker for a question that is answered at once.
func askDocker(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %s", askTimeout))
	defer cancel()
	return docker(ctx, args...)
}

// dockerError is a command of the engine that failed.
type dockerError struct {
	command, said string
	err           error
}

func (e *dockerError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("running docker %s: %v", e.command, e.err)
	}
	return e.said
}

func (e *dockerError) Unwrap() error { return e.err }

// lastLine returns the last line of text that says something. The command's hint at its own help does not.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "See 'docker") && !strings.HasPrefix(line, "Run 'docker") {
			return line
		}
	}
	return ""
}

// engineAnswers returns the architecture of an engine that is there and answers.
func engineAnswers(ctx context.Context) (arch string, err error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return "", errors.New("docker is not in PATH: install Docker, or run what needs no containers at the level " + string(Kwok))
	}
	arch, err = askDocker(ctx, "version", "--format", "{{.Server.Arch}}")
	if err != nil {
		return "", fmt.Errorf("the Docker engine does not answer (%w): start it, or point DOCKER_HOST at one", err)
	}
	return arch, nil
}

// ensureImage makes sure that the engine has an image for its own architecture, and pulls one that it lacks.
func ensureImage(ctx context.Context, image, arch string, p *progress) error {
	const format = "{{.Architecture}}"
	got, err := askDocker(ctx, "image", "inspect", "--format", format, image)
	if err != nil {
		p.say("pulling " + image)
		if _, pullErr := docker(ctx, "pull", "--quiet", image); pullErr != nil {
			return fmt.Errorf("the node image %s is not in the engine and cannot be pulled (%w): name another, or make one", image, pullErr)
		}
		if got, err = askDocker(ctx, "image", "inspect", "--format", format, image); err != nil {
			return fmt.Errorf("looking at the node image %s: %w", image, err)
		}
	}
	if got != arch {
		return fmt.Errorf("the node image %s is for %s and the engine for %s: name one for %[3]s", image, got, arch)
	}
	return nil
}
