package cluster

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

const loopback = "127.0.0.1"

// envtestHelp answers what envtest asks the binaries before each start, which costs a run of each: whether etcd knows
// this flag, as it does since 3.5, and whether kube-apiserver knows flags that were removed in 1.24.
var envtestHelp = map[binaries.Tool]string{
	binaries.Etcd:          "  --unsafe-no-fsync",
	binaries.KubeAPIServer: "see the reference of kube-apiserver",
}

// bootEnvtest starts etcd and kube-apiserver through controller-runtime's envtest. Its Environment is left out: it
// repeats a failing start five times and keeps the CA to itself.
func bootEnvtest(ctx context.Context, s *site) (*rest.Config, *authority, error) {
	users, err := newAuthority(s.run.join("pki"))
	if err != nil {
		return nil, nil, err
	}
	etcdLog, err := s.run.log(string(binaries.Etcd))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = etcdLog.Close() }() // The component keeps it open for itself.
	apiLog, err := s.run.log(string(binaries.KubeAPIServer))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = apiLog.Close() }()
	plane, err := s.controlPlane(users, etcdLog, apiLog)
	if err != nil {
		return nil, nil, err
	}
	// It is never asked to stop: the run directory knows its processes, and ends them with a grace period and by force.
	if err := s.during(ctx, plane.Start); err != nil {
		return nil, nil, blame(err, binaries.KubeAPIServer, binaries.Etcd)
	}
	admin := &rest.Config{
		Host:            plane.APIServer.SecureServing.URL("https", "").String(),
		TLSClientConfig: rest.TLSClientConfig{CAData: plane.APIServer.CA},
	}
	if admin, err = users.user(admin, "admin", "system:masters"); err != nil {
		return nil, nil, err
	}
	if err := awaitDefaultNamespace(ctx, admin, s.StartTimeout); err != nil {
		return nil, nil, &componentError{string(binaries.KubeAPIServer), err}
	}
	s.progress.done("etcd and kube-apiserver are up")
	return admin, users, nil
}

func (s *site) controlPlane(users *authority, etcdLog, apiLog *os.File) (*envtest.ControlPlane, error) {
	launchers, err := s.launchers(envtestHelp, nil)
	if err != nil {
		return nil, err
	}
	etcdPort, err := s.ports()
	if err != nil {
		return nil, err
	}
	apiPort, err := s.ports()
	if err != nil {
		return nil, err
	}
	plane := &envtest.ControlPlane{
		KubectlPath: launchers[binaries.Kubectl],
		Etcd: &envtest.Etcd{
			Path: launchers[binaries.Etcd], DataDir: s.run.join("etcd"), Out: etcdLog, Err: etcdLog,
			URL:          &url.URL{Scheme: "http", Host: net.JoinHostPort(loopback, strconv.Itoa(etcdPort))},
			StartTimeout: s.StartTimeout, StopTimeout: s.StopGrace,
		},
		APIServer: &envtest.APIServer{
			Path: launchers[binaries.KubeAPIServer], CertDir: s.run.join("pki"), Out: apiLog, Err: apiLog,
			SecureServing: envtest.SecureServing{
				ListenAddr: envtest.ListenAddr{Address: loopback, Port: strconv.Itoa(apiPort)},
				Authn:      users,
			},
			StartTimeout: s.StartTimeout, StopTimeout: s.StopGrace,
		},
	}
	for flag, value := range s.APIServerFlags {
		plane.APIServer.Configure().Set(flag, value)
	}
	return plane, nil
}

// blame finds the component that an error of envtest speaks of, which has no type to tell, and says in fewer words when
// it has ended.
func blame(err error, suspects ...binaries.Tool) error {
	for _, tool := range suspects {
		switch {
		case !strings.Contains(err.Error(), string(tool)):
		case strings.Contains(err.Error(), "stopped unexpectedly"):
			return &componentError{string(tool), errEnded}
		default:
			return &componentError{string(tool), err}
		}
	}
	return err
}

// awaitDefaultNamespace waits for what kube-apiserver makes just after it reports itself healthy.
func awaitDefaultNamespace(ctx context.Context, admin *rest.Config, timeout time.Duration) error {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, pollEvery, timeout, true, func(ctx context.Context) (bool, error) {
		_, last = clients.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting %s for the namespace default: %w (last answer: %w)", timeout, err, last)
	}
	return nil
}
