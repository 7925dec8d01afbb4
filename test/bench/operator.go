package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

const (
	module = "github.com/example-inc/memcached-operator"

	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second
	pollEvery    = 100 * time.Millisecond
)

// subject is an operator under test.
type subject struct {
	name     string
	program  string                        // The main package that runs it.
	children []client.Object               // Empty objects of the kinds that it makes, each with its owner's name.
	ready    func(*cachev1.Memcached) bool // Tells whether it says that a resource is as it should be.
}

// user is the name under which the subject's requests are counted.
func (s *subject) user() string { return "bench:" + s.name }

var (
	ours = &subject{
		name:     "ours",
		program:  module + "/cmd/manager",
		children: []client.Object{&corev1.Service{}, &appsv1.Deployment{}},
		ready: func(mc *cachev1.Memcached) bool {
			return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1.ConditionAvailable)
		},
	}
	// tutorial has no condition: all that it ever says is which pods there are, ready or not.
	tutorial = &subject{
		name:     "tutorial",
		program:  module + "/test/bench/tutorial",
		children: []client.Object{&appsv1.Deployment{}},
		ready:    func(mc *cachev1.Memcached) bool { return len(mc.Status.Nodes) == 1 },
	}
	subjects = []*subject{ours, tutorial}
)

// build compiles the subject's manager as it is shipped.
func (s *subject) build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", s.binary(dir), s.program) //nolint:gosec // Our own program.
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w", s.program, err)
	}
	return nil
}

func (s *subject) binary(dir string) string { return filepath.Join(dir, "manager-"+s.name) }

// manager is a running process of a subject.
type manager struct {
	subject *subject
	cmd     *exec.Cmd
	log     string
	metrics string // Address of the metrics.
	ended   chan struct{}
}

// startManager starts s on the site, for namespaces or for all of them, and waits until it calls itself ready.
func (st *site) startManager(ctx context.Context, s *subject, namespaces ...string) (*manager, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	m := &manager{subject: s, log: filepath.Join(st.dir, s.name+".log"), metrics: ports[0], ended: make(chan struct{})}
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	m.cmd = exec.Command(s.binary(st.programs), //nolint:gosec // Built by us.
		"--kubeconfig="+st.kubeconfigs[s],
		"--watch-namespaces="+strings.Join(namespaces, ","),
		"--max-concurrent-reconciles="+strconv.Itoa(workers),
		"--leader-elect=false",
		"--metrics-secure=false", "--metrics-bind-address="+m.metrics,
		"--health-probe-bind-address="+ports[1],
	)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.Env = []string{"HOME=" + st.dir, "PATH=" + os.Getenv("PATH")} // What else is set is not for a manager to see.
	m.cmd.SysProcAttr = processAttributes()
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the manager of %s: %w", s.name, err)
	}
	go func() {
		defer close(m.ended)
		_ = m.cmd.Wait() // How it ended shows in its log and is asked for in stop.
	}()
	if err := m.awaitReady(ctx, "http://"+ports[1]+"/readyz"); err != nil {
		return nil, errors.Join(err, m.stop(context.WithoutCancel(ctx)))
	}
	return m, nil
}

func (m *manager) awaitReady(ctx context.Context, url string) error {
	err := wait.PollUntilContextTimeout(ctx, pollEvery, startTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-m.ended:
			return false, errors.New("it has ended")
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // It does not serve yet.
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager of %s to be ready: %w; its log ends:\n%s", m.subject.name, err, m.logTail())
	}
	return nil
}

// stop asks the manager to end and waits until it has.
func (m *manager) stop(ctx context.Context) error {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // It may have ended.
	deadline := time.NewTimer(stopTimeout)
	defer deadline.Stop()
	select {
	case <-m.ended:
		if !m.cmd.ProcessState.Success() {
			return fmt.Errorf("the manager of %s ended with %s; its log ends:\n%s", m.subject.name, m.cmd.ProcessState, m.logTail())
		}
		return nil
	case <-deadline.C:
	case <-ctx.Done():
	}
	_ = m.cmd.Process.Kill()
	<-m.ended
	return fmt.Errorf("the manager of %s had to be killed", m.subject.name)
}

func (m *manager) logTail() string {
	const lines = 20
	data, err := os.ReadFile(m.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// usage is what a process takes of the machine.
type usage struct {
	resident, anonymous uint64 // Bytes of memory, and those of them that no file backs.
	cpu                 float64
}

func (m *manager) usage() (usage, error) {
	process, err := procfs.NewProc(m.cmd.Process.Pid)
	if err != nil {
		return usage{}, fmt.Errorf("looking at the manager of %s: %w", m.subject.name, err)
	}
	status, err := process.NewStatus()
	if err != nil {
		return usage{}, fmt.Errorf("reading the memory of the manager of %s: %w", m.subject.name, err)
	}
	stat, err := process.Stat()
	if err != nil {
		return usage{}, fmt.Errorf("reading the CPU time of the manager of %s: %w", m.subject.name, err)
	}
	return usage{resident: status.VmRSS, anonymous: status.RssAnon, cpu: stat.CPUTime()}, nil
}

// freePorts returns addresses that nobody listens on.
func freePorts(n int) (addresses []string, _ error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}
