package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/example-inc/memcached-operator/harness/image"
)

const (
	// answerLimit is how long a registry may take to say that it has the image, pullLimit how long the pull may take then.
	answerLimit = 4 * time.Second
	pullLimit   = 5 * time.Minute
	// killDelay is for an interrupted docker command.
	killDelay = time.Second
)

// pull has the engine pull an image, with the engine's mirrors and credentials, and writes its archive. It says why not.
func (w workshop) pull(ctx context.Context, p product) error {
	if os.Getenv("HARNESS_OFFLINE") != "" {
		return errors.New("HARNESS_OFFLINE is set")
	}
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("there is no docker command")
	}
	if err := pull(ctx, p.ref, w.answerLimit); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "memcached-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	saved := filepath.Join(dir, "saved.tar")
	if out, err := exec.CommandContext(ctx, "docker", "save", "--output", saved, p.ref).CombinedOutput(); err != nil {
		return fmt.Errorf("docker save: %w: %s", err, lastLine(string(out)))
	}
	return image.Rewrite(saved, p.ref, p.path)
}

// pull gives up after a few seconds without a word of the registry: who cannot reach one must not wait for it each time.
func pull(ctx context.Context, ref string, answerLimit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pullLimit, fmt.Errorf("the pull takes longer than %s", pullLimit))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silence := time.AfterFunc(answerLimit, func() { stop(fmt.Errorf("no answer within %s", answerLimit)) })
	defer silence.Stop()

	cmd := exec.CommandContext(ctx, "docker", "pull", ref)
	cmd.WaitDelay = killDelay
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	last := make(chan string)
	go func() {
		line := ""
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			if line = scanner.Text(); strings.Contains(line, "Pulling from") {
				silence.Stop()
			}
		}
		_, _ = io.Copy(io.Discard, reader)
		last <- line
	}()
	err := cmd.Run()
	_ = writer.Close()
	line := <-last
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("docker pull: %w: %s", err, strings.TrimSpace(line))
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
