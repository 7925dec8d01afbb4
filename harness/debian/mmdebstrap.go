package debian

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// epoch is what all files that are made or changed are dated: the day bookworm was released. Not 0, which would make
	// passwords expire.
	epoch = "SOURCE_DATE_EPOCH=1686355200"
	// forgetHost removes what mmdebstrap copies from the host, and where the packages came from.
	forgetHost = `rm -f "$1/etc/hostname" "$1/etc/resolv.conf" "$1/etc/apt/sources.list"`
	// stopDelay is how long an interrupted mmdebstrap may take to unmount and remove what it has made.
	stopDelay = 30 * time.Second
	// lastLines is how much of its output is shown when it fails.
	lastLines = 12
)

// arguments are those of mmdebstrap, which reads its sources from standard input if there are any.
func arguments(r Request, target string, sources string) []string {
	args := []string{"--variant=" + r.Variant, "--format=tar", "--skip=output/dev"} // Containers get a /dev of their own.
	if len(r.Packages) > 0 {
		args = append(args, "--include="+strings.Join(r.Packages, ","))
	}
	for _, option := range r.AptOptions {
		args = append(args, "--aptopt="+option)
	}
	for _, option := range r.DpkgOptions {
		args = append(args, "--dpkgopt="+option)
	}
	for _, hook := range r.CustomizeHooks {
		args = append(args, "--customize-hook="+hook)
	}
	args = append(args, "--customize-hook="+forgetHost, r.Suite, target)
	if sources != "" {
		args = append(args, "-")
	}
	return args
}

// run has mmdebstrap write a tar archive to target. When ctx ends, so does all that it has started.
func (m *maker) run(ctx context.Context, r Request, target string) error {
	if _, err := exec.LookPath(m.command); err != nil {
		return fmt.Errorf("mmdebstrap is not installed: on Debian and Ubuntu, apt-get install mmdebstrap: %w", err)
	}
	sources := m.sources(r.Suite)
	cmd := exec.CommandContext(ctx, m.command, arguments(r, target, sources)...)
	cmd.Env = slices.Concat(m.environ, hostProxies(ctx, m.environ), []string{epoch})
	cmd.Stdin = strings.NewReader(sources)
	cmd.WaitDelay = stopDelay
	contain(cmd)
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	read := make(chan []string)
	go func() { read <- m.report(reader) }()
	err := runBound(cmd)
	_ = writer.Close()
	output := <-read
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return explain(err, output, target)
	}
	return nil
}

// report passes on which step mmdebstrap is at, and returns its last lines, which have the reason of a failure.
func (m *maker) report(r io.Reader) (last []string) {
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		line := scanner.Text()
		if step, ok := strings.CutPrefix(line, "I: "); ok && strings.HasSuffix(step, "...") {
			m.say("debian: %s", strings.TrimSuffix(step, "..."))
		}
		if last = append(last, line); len(last) > 200 {
			last = last[1:]
		}
	}
	if scanner.Err() != nil {
		_, _ = io.Copy(io.Discard, r) // Or mmdebstrap would block on a full pipe.
	}
	return last
}

// explain turns what mmdebstrap said into one clear line, where the cause is a known one, and its last lines.
func explain(err error, output []string, target string) error {
	if line := lineWith(output, "No space left on device"); line != "" {
		return fmt.Errorf("a disk is full: free some space in TMPDIR, or /tmp, where mmdebstrap unpacks, and in %s, where the result goes: %s: %w",
			filepath.Dir(target), line, err)
	}
	if line := lineWith(output, "Temporary failure resolving", "Could not resolve", "Could not connect", "Unable to connect",
		"Connection timed out", "connection failed", "Network is unreachable", "Connection refused"); line != "" {
		return fmt.Errorf("the Debian mirror cannot be reached: check the network, or name a mirror that this machine reaches in /etc/apt/sources.list: %s: %w", line, err)
	}
	if line := lineWith(output, "Unable to locate package", "has no installation candidate"); line != "" {
		return fmt.Errorf("the mirror has no such package: %s: %w", line, err)
	}
	if line := lineWith(output, "NO_PUBKEY", "is not signed"); line != "" {
		return fmt.Errorf("the mirror's signature cannot be checked: apt-get install debian-archive-keyring: %s: %w", line, err)
	}
	return fmt.Errorf("mmdebstrap failed: %w; it said last:\n%s", err, strings.Join(output[max(len(output)-lastLines, 0):], "\n"))
}

func lineWith(lines []string, signs ...string) string {
	for _, line := range lines {
		for _, sign := range signs {
			if strings.Contains(strings.ToLower(line), strings.ToLower(sign)) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}
