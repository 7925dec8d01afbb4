package manager_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/example-inc/memcached-operator/harness/cluster"
)

// process is one running manager.
type process struct {
	*gexec.Session
	probes, metrics string
}

// start runs a manager with free addresses, its Lease in namespace, and env, and kills it at the end of the spec.
func start(ctx context.Context, namespace string, env []string, args ...string) *process {
	GinkgoHelper()
	kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(cluster.WriteKubeconfig(acting, kubeconfig)).To(Succeed())
	p := &process{probes: free(ctx), metrics: free(ctx)}
	cmd := exec.Command(program, append([]string{ //nolint:gosec // Built by the suite.
		"--kubeconfig=" + kubeconfig, "--leader-election-namespace=" + namespace,
		"--health-probe-bind-address=" + p.probes, "--metrics-bind-address=" + p.metrics,
	}, args...)...)
	cmd.Env = append([]string{"HOME=" + GinkgoT().TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	session, err := gexec.Start(cmd, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	p.Session = session
	DeferCleanup(func(ctx SpecContext) {
		session.Kill()
		Eventually(ctx, session.Exited).Should(BeClosed())
		Expect(session.Err).NotTo(gbytes.Say("forbidden"), "the shipped roles must do")
	})
	return p
}

// free is a loopback address that nobody listens on.
func free(ctx context.Context) string {
	GinkgoHelper()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(listener.Close()).To(Succeed()) }()
	return listener.Addr().String()
}

// ready waits until the manager says so.
func (p *process) ready(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() (int, error) { return ask(ctx, "http://"+p.probes+"/readyz", "") }).Should(Equal(http.StatusOK))
}

// ask is the status of the answer to a GET with a token, or without one where it is empty.
func ask(ctx context.Context, url, token string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // Its own certificate, on the loopback address.
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	return response.StatusCode, err
}
