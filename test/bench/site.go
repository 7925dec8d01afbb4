package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
	"github.com/example-inc/memcached-operator/config/crd"
	"github.com/example-inc/memcached-operator/harness/cluster"
)

// site is a simulated cluster.
type site struct {
	cluster.Cluster
	client      client.Client
	programs    string   // Directory of the managers' programs.
	dir         string   // Directory of everything else.
	audit       auditLog // Of a cluster that logs what the subjects write.
	kubeconfigs map[*subject]string
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1.AddToScheme(scheme))
	return scheme
}

// onSite starts a simulated cluster, calls use, and stops the cluster. An audited one logs what the subjects write, which
// takes time.
func (b *bench) onSite(ctx context.Context, audited bool, use func(context.Context, *site) error) error {
	dir, err := os.MkdirTemp(b.dir, "site-")
	if err != nil {
		return err
	}
	st, err := startSite(ctx, b.dir, dir, audited)
	if err != nil {
		return err
	}
	return errors.Join(use(ctx, st), st.Stop(context.WithoutCancel(ctx)))
}

func startSite(ctx context.Context, programs, dir string, audited bool) (*site, error) {
	st := &site{programs: programs, dir: dir, kubeconfigs: map[*subject]string{}}
	flags := map[string]string{}
	if audited {
		var err error
		if flags, err = st.auditFlags(); err != nil {
			return nil, err
		}
	}
	var err error
	st.Cluster, err = cluster.Start(ctx, cluster.Options{Level: cluster.Kwok, Name: "bench", CRDs: []fs.FS{crd.Files}, APIServerFlags: flags})
	if err != nil {
		return nil, err
	}
	if err := st.prepare(ctx); err != nil {
		return nil, errors.Join(err, st.Stop(context.WithoutCancel(ctx)))
	}
	return st, nil
}

// auditFlags have kube-apiserver log what the subjects write.
func (st *site) auditFlags() (map[string]string, error) {
	policy, err := auditPolicy(ours.user(), tutorial.user())
	if err != nil {
		return nil, fmt.Errorf("encoding the audit policy: %w", err)
	}
	policyFile := filepath.Join(st.dir, "audit-policy.yaml")
	if err := os.WriteFile(policyFile, policy, 0o600); err != nil {
		return nil, err
	}
	st.audit = auditLog{path: filepath.Join(st.dir, "audit.log")}
	return map[string]string{"audit-policy-file": policyFile, "audit-log-path": st.audit.path, "audit-log-maxsize": "10000"}, nil
}

// prepare makes a client, and a kubeconfig for each subject.
func (st *site) prepare(ctx context.Context) (err error) {
	if st.client, err = client.New(st.Config(), client.Options{Scheme: newScheme()}); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, s := range subjects {
		cfg, err := st.AddUser(ctx, s.user(), "system:masters")
		if err != nil {
			return err
		}
		st.kubeconfigs[s] = filepath.Join(st.dir, s.name+".kubeconfig")
		if err := cluster.WriteKubeconfig(cfg, st.kubeconfigs[s]); err != nil {
			return err
		}
	}
	return nil
}

func (st *site) createNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := st.client.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// with runs s for namespaces while use runs.
func (st *site) with(ctx context.Context, s *subject, use func(*manager) error, namespaces ...string) error {
	m, err := st.startManager(ctx, s, namespaces...)
	if err != nil {
		return err
	}
	return errors.Join(use(m), m.stop(context.WithoutCancel(ctx)))
}
