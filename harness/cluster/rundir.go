package cluster

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// dirPrefix begins the name of every run directory.
const dirPrefix = "harness-cluster-"

//go:embed watchdog.sh
var watchdogScript string

// runDir is the directory that holds all that one cluster writes, guarded by a watchdog: a shell in a session of its own
// that kills the registered processes and removes the directory once this process is gone. Children register by
// themselves, because controller-runtime's envtest and kwokctl start them without telling their process ids.
type runDir struct {
	path     string
	watchdog *exec.Cmd
	pipe     io.WriteCloser
}

func newRunDir(name string) (*runDir, error) {
	path, err := os.MkdirTemp("", dirPrefix+name+"-")
	if err != nil {
		return nil, fmt.Errorf("making a run directory (TMPDIR chooses where): %w", err)
	}
	if path, err = filepath.Abs(path); err != nil { // The components do not run in our working directory.
		return nil, fmt.Errorf("finding the run directory: %w", err)
	}
	r := &runDir{path: path}
	if err := r.guard(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	for _, dir := range []string{"bin", "pids", "logs", "pki"} {
		if err := os.Mkdir(r.join(dir), 0o700); err != nil {
			return nil, errors.Join(err, r.remove())
		}
	}
	return r, nil
}

func (r *runDir) guard() error {
	// The name after -c's script becomes $0, the directory $1.
	r.watchdog = exec.Command("/bin/sh", "-c", watchdogScript, "harness-watchdog", r.path) //nolint:gosec // The script is embedded.
	r.watchdog.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := r.watchdog.StdinPipe()
	if err != nil {
		return fmt.Errorf("making the watchdog's pipe: %w", err)
	}
	r.pipe = pipe
	if err := r.watchdog.Start(); err != nil {
		return fmt.Errorf("starting the watchdog: %w", err)
	}
	return nil
}

func (r *runDir) join(elem ...string) string {
	return filepath.Join(append([]string{r.path}, elem...)...)
}

// copyLogs copies the components' logs into dir.
func (r *runDir) copyLogs(dir string) error {
	entries, err := os.ReadDir(r.join("logs"))
	if err != nil {
		return err
	}
	errs := []error{os.MkdirAll(dir, 0o755)} //nolint:gosec // For whoever looks into the failure.
	for _, entry := range entries {
		log, err := os.ReadFile(r.join("logs", entry.Name()))
		errs = append(errs, err)
		if err == nil {
			errs = append(errs, os.WriteFile(filepath.Join(dir, entry.Name()), log, 0o644)) //nolint:gosec // As above.
		}
	}
	return errors.Join(errs...)
}

// remove deletes the directory and dismisses the watchdog. The watchdog stays when the directory could not be removed:
// it tries again when this process ends.
func (r *runDir) remove() error {
	if err := os.RemoveAll(r.path); err != nil {
		return fmt.Errorf("removing the run directory: %w", err)
	}
	return r.dismiss()
}

// dismiss ends the watchdog and leaves the directory as it is.
func (r *runDir) dismiss() error {
	if _, err := io.WriteString(r.pipe, "done\n"); err != nil {
		return fmt.Errorf("dismissing the watchdog: %w", err)
	}
	return errors.Join(r.pipe.Close(), r.watchdog.Wait())
}

// launcher writes a script that registers its process and then becomes binary, and returns the script's path. It will
// not start anything once the watchdog has taken over, and waits at the component's gate where there is one. The answer to
// --help can be given without running the binary.
func (r *runDir) launcher(component, binary, help string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\ncase \"$1\" in\n")
	if help != "" {
		fmt.Fprintf(&b, "--help) echo %s; exit ;;\n", shellQuote(help))
	}
	fmt.Fprintf(&b, "--help | --version | version) exec %s \"$@\" ;;\nesac\n", shellQuote(binary))
	fmt.Fprintf(&b, "echo %s >%s/\"$$\" || exit 1\n", shellQuote(component), shellQuote(r.join("pids")))
	fmt.Fprintf(&b, "[ ! -p %[1]s ] || : <%[1]s\n", shellQuote(r.gate(component)))
	fmt.Fprintf(&b, "exec %s \"$@\"\n", shellQuote(binary))

	path := r.join("bin", component)
	if err := os.WriteFile(path, []byte(b.String()), 0o700); err != nil { //nolint:gosec // It is to be executed.
		return "", fmt.Errorf("writing the launcher of %s: %w", component, err)
	}
	return path, nil
}

// log creates the file that gets a component's output. A file and not a writer: a copying goroutine would keep Wait from
// returning, and the component would die of a closed pipe before the watchdog could end it properly.
func (r *runDir) log(component string) (*os.File, error) {
	file, err := os.Create(r.logPath(component))
	if err != nil {
		return nil, fmt.Errorf("creating the log of %s: %w", component, err)
	}
	return file, nil
}

func (r *runDir) logPath(component string) string { return r.join("logs", component+".log") }

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
