// Package rights_test shows that the operator needs every right that its roles give it: each is taken away in turn, and the
// operator is seen to be refused it.
package rights_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/config/crd"
	"github.com/example-inc/memcached-operator/controllers"
	"github.com/example-inc/memcached-operator/harness/cluster"
)

var (
	on      cluster.Cluster
	admin   client.Client
	manager string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background() //nolint:forbidigo // It is where the process begins.
	dir, err := os.MkdirTemp("", "memcached-operator-rights-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = prepare(ctx, dir)
	}
	if on != nil {
		defer func() { _ = on.Stop(ctx) }()
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "rights:", err)
		return 1
	}
	return m.Run()
}

// prepare starts an API server of its own: on that which suites share, nobody asks for the right to update finalizers. An API server
// without streaming lists is asked to list first, as the operator is made to do here.
func prepare(ctx context.Context, dir string) (err error) {
	for name, value := range map[string]string{cluster.EnvKubeconfig: "", cluster.EnvLevel: "", "KUBE_FEATURE_WatchListClient": "false"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	on, err = cluster.Start(ctx, cluster.Options{
		Level: cluster.Envtest, Name: "rights", CRDs: []fs.FS{crd.Files},
		APIServerFlags: map[string]string{"enable-admission-plugins": "OwnerReferencesPermissionEnforcement"},
	})
	if err != nil {
		return err
	}
	if admin, err = client.New(on.Config(), client.Options{Scheme: controllers.Scheme()}); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	manager = filepath.Join(dir, "manager")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", manager, "../../../cmd/manager").CombinedOutput(); err != nil {
		return fmt.Errorf("building the manager: %w\n%s", err, out)
	}
	return nil
}
