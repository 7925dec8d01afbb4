package rights_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/operator"
	"github.com/example-inc/memcached-operator/test/suite"
)

const (
	// limit is for one right, on a machine that is busy with others.
	limit     = 90 * time.Second
	pollEvery = 100 * time.Millisecond
)

// right is one verb on one resource.
type right struct {
	group, resource, verb string
}

func (r right) String() string { return strings.Trim(r.verb+" "+r.resource+"."+r.group, ".") }

func (r right) in(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.APIGroups, r.group) && slices.Contains(rule.Resources, r.resource) && slices.Contains(rule.Verbs, r.verb)
}

// refusal is how the API server words the lack of the right.
func (r right) refusal() string {
	if strings.HasSuffix(r.resource, "/finalizers") {
		return "cannot set blockOwnerDeletion" // The right is not used, but asked for.
	}
	return fmt.Sprintf(`cannot %s resource \"%s\" in API group \"%s\"`, r.verb, r.resource, r.group)
}

// spare are the rights that the operator does not come to need here, and why it has them.
var spare = map[right]string{
	{"", "pods", "get"}:                  "whoever lists pods is commonly given get as well",
	{"", "events", "patch"}:              "a manager that became leader twice would count that in one event, but it ends when it loses the Lease",
	{"events.k8s.io", "events", "patch"}: "a repetition is counted in one event only where the resource has the same version, so that it needs a stale cache",
}

// TestEveryRightIsNeeded takes each right away in turn. One that the operator is never refused would be one too many.
func TestEveryRightIsNeeded(t *testing.T) {
	all := shipped(t)
	for r := range spare {
		if !slices.ContainsFunc(all, r.in) {
			t.Errorf("no role has the right to %s any more: take it from the spare ones", r)
		}
	}
	for _, rule := range all {
		for _, verb := range rule.Verbs {
			r := right{rule.APIGroups[0], rule.Resources[0], verb}
			t.Run(r.String(), func(t *testing.T) {
				t.Parallel()
				m := start(t, without(all, r))
				m.play(t, r)
			})
		}
	}
}

// shipped are the rules of all roles that are bound to the operator's account.
func shipped(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	var all []rbacv1.PolicyRule
	for _, name := range []string{"role.yaml", "leader_election_role.yaml", "metrics_auth_role.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../../config/rbac", name))
		if err != nil {
			t.Fatal(err)
		}
		role := &rbacv1.ClusterRole{} // A Role has the same rules.
		if err := yaml.Unmarshal(data, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			if len(rule.APIGroups) != 1 || len(rule.Resources) != 1 {
				t.Fatalf("%s has a rule of several resources, of which this test would try the first alone: %v", name, rule)
			}
		}
		all = append(all, role.Rules...)
	}
	return all
}

func without(rules []rbacv1.PolicyRule, r right) []rbacv1.PolicyRule {
	var rest []rbacv1.PolicyRule
	for _, rule := range rules {
		rule := *rule.DeepCopy()
		if rule.APIGroups[0] == r.group && rule.Resources[0] == r.resource {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == r.verb })
		}
		if len(rule.Verbs) > 0 {
			rest = append(rest, rule)
		}
	}
	return rest
}

// running is one manager with some rights, in a namespace of its own.
type running struct {
	*operator.Process

	namespace string
}

func start(t *testing.T, rules []rbacv1.PolicyRule) *running {
	t.Helper()
	ctx, namespace := t.Context(), cluster.Namespace(t, on)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace}},
	}
	if err := admin.Create(ctx, role); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(ctx, binding); err != nil {
		t.Fatal(err)
	}
	config, err := on.AddUser(ctx, namespace)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := cluster.WriteKubeconfig(config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	process, err := operator.Start(ctx, manager, kubeconfig, namespace, filepath.Join(dir, "log"), "--watch-namespaces", namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Signal(syscall.SIGKILL)
		<-process.Ended.Done()
		if t.Failed() {
			log, _ := os.ReadFile(process.Log)
			t.Logf("the manager's log:\n%s", log)
		}
	})
	return &running{process, namespace}
}

// refused tells whether the manager has been refused the right.
func (m *running) refused(r right) (bool, error) {
	log, err := os.ReadFile(m.Log)
	if err != nil {
		return false, err
	}
	// Some of its loggers write JSON, others text.
	return strings.Contains(strings.ReplaceAll(string(log), `\\"`, `\"`), r.refusal()) ||
		strings.Contains(string(log), strings.ReplaceAll(r.refusal(), `\"`, `"`)), nil
}

// play plays the life of a resource, step by step, until the manager is refused the right. A step is repeated until it shows.
func (m *running) play(t *testing.T, r right) {
	t.Helper()
	kind := suite.Memcached
	if strings.HasPrefix(r.resource, "myapps") {
		kind = suite.MyApp
	}
	life := newLife(m, kind)
	var last error
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		if refused, err := m.refused(r); refused || err != nil {
			return true, err
		}
		last = life.step(ctx)
		return life.over(), nil
	})
	refused, readErr := m.refused(r)
	if readErr != nil {
		t.Fatal(readErr)
	}
	switch reason := spare[r]; {
	case refused && reason != "":
		t.Errorf("the manager was refused %s: take it from the spare ones, for it is needed", r)
	case !refused && reason != "" && !life.over():
		t.Errorf("the manager has not come to the end of the life without the right to %s: %v; %s, %v", r, err, life.at(), last)
	case !refused && reason == "":
		t.Errorf("the manager was never refused %s, so that it does not need it: take it from the role (%v; %s, %v)", r, err, life.at(), last)
	}
}
