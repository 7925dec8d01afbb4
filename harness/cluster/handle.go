package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// handle is the Cluster of every level: they differ in what they can do and in how they end.
type handle struct {
	level      Level
	can        []Capability
	admin      *rest.Config
	kubeconfig string
	users      *authority // Nil when the cluster's CA is out of reach; users are then impersonated.
	end        func(context.Context) error
	logs       func(ctx context.Context, dir string) error
	keep       Keep
	leave      func() error // What Stop does instead of end when the cluster is to be kept.

	stopping sync.Mutex
	stopped  bool
	failed   atomic.Bool
}

var _ Cluster = (*handle)(nil)

func (h *handle) Level() Level          { return h.level }
func (h *handle) Has(c Capability) bool { return slices.Contains(h.can, c) }
func (h *handle) Config() *rest.Config  { return rest.CopyConfig(h.admin) }
func (h *handle) Kubeconfig() string    { return h.kubeconfig }

// AddUser signs a client certificate where the CA is at hand, and impersonates elsewhere. Both are authorized as that
// user; a certificate also works where the user itself impersonates or is impersonated.
func (h *handle) AddUser(_ context.Context, name string, groups ...string) (*rest.Config, error) {
	if name == "" {
		return nil, fmt.Errorf("adding a user to the %s level: the name is empty", h.level)
	}
	if h.users != nil {
		return h.users.user(h.admin, name, groups...)
	}
	cfg := h.Config()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	return cfg, nil
}

func (h *handle) Failed() { h.failed.Store(true) }

func (h *handle) Logs(ctx context.Context, dir string) error {
	if h.logs == nil {
		return nil
	}
	if err := h.logs(ctx, dir); err != nil {
		return fmt.Errorf("writing the logs of the %s level: %w", h.level, err)
	}
	return nil
}

func (h *handle) Stop(ctx context.Context) error {
	h.stopping.Lock()
	defer h.stopping.Unlock()
	if h.stopped || h.end == nil {
		return nil
	}
	if h.keep == KeepAlways || h.keep == KeepOnFailure && h.failed.Load() {
		h.stopped = true
		return h.leave()
	}
	if err := h.end(ctx); err != nil {
		return fmt.Errorf("stopping the %s level: %w", h.level, err)
	}
	h.stopped = true
	return nil
}

// tune makes cfg fit for tests: no client-side limits, and each distinct warning once.
func tune(cfg *rest.Config, out io.Writer) *rest.Config {
	cfg.QPS = -1
	cfg.WarningHandler = rest.NewWarningWriter(out, rest.WarningWriterOptions{Deduplicate: true})
	return cfg
}

// WriteKubeconfig writes a kubeconfig for cfg, as returned by Config or AddUser, so that another process can be that
// user. The file must not exist: a kubeconfig that is already there belongs to somebody.
func WriteKubeconfig(cfg *rest.Config, path string) error {
	const name = "harness"
	data, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   cfg.Host,
			TLSServerName:            cfg.ServerName,
			InsecureSkipTLSVerify:    cfg.Insecure,
			CertificateAuthority:     cfg.CAFile,
			CertificateAuthorityData: cfg.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificate:     cfg.CertFile,
			ClientCertificateData: cfg.CertData,
			ClientKey:             cfg.KeyFile,
			ClientKeyData:         cfg.KeyData,
			Token:                 cfg.BearerToken,
			TokenFile:             cfg.BearerTokenFile,
			Username:              cfg.Username,
			Password:              cfg.Password,
			Exec:                  cfg.ExecProvider,
			AuthProvider:          cfg.AuthProvider,
			Impersonate:           cfg.Impersonate.UserName,
			ImpersonateUID:        cfg.Impersonate.UID,
			ImpersonateGroups:     cfg.Impersonate.Groups,
			ImpersonateUserExtra:  cfg.Impersonate.Extra,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("encoding a kubeconfig: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // The caller chooses the path.
	if err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	if _, err := file.Write(data); err != nil {
		_ = file.Close()
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return file.Close()
}
