// Package manager_test has the specs of the operator's own process on a real kube-apiserver.
package manager_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/suite"
)

const limit = SpecTimeout(90 * time.Second)

// user is whom the processes act as.
const user = "manager-process"

var (
	on      *suite.Suite
	program string
	acting  *rest.Config
)

func TestManager(t *testing.T) { suite.Run(t, "The manager's process") }

func init() { on = suite.On(cluster.Envtest, prepare) } // prepare refers to what it fills.

// prepare builds the manager and gives the user the shipped rights.
func prepare(ctx context.Context) {
	GinkgoHelper()
	program = filepath.Join(GinkgoT().TempDir(), "manager")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "../../../cmd/manager").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	for _, role := range []string{"role.yaml", "leader_election_role.yaml", "metrics_auth_role.yaml"} {
		grant(ctx, role)
	}
	acting, err = on.Cluster.AddUser(ctx, user)
	Expect(err).NotTo(HaveOccurred())
}

// grant gives the user the rules of a shipped role.
func grant(ctx context.Context, file string) {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join("../../../config/rbac", file))
	Expect(err).NotTo(HaveOccurred())
	shipped := &rbacv1.ClusterRole{} // A Role has the same rules.
	Expect(yaml.Unmarshal(data, shipped)).To(Succeed())
	bind(ctx, shipped.Rules, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
}

// bind gives subject the rules, for as long as the cluster lives.
func bind(ctx context.Context, rules []rbacv1.PolicyRule, subject rbacv1.Subject) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"}, Rules: rules}
	Expect(on.Client.Create(ctx, role)).To(Succeed())
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{subject},
	}
	Expect(on.Client.Create(ctx, binding)).To(Succeed())
}
