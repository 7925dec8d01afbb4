package deploy

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestNoRoleHasAWildcard(t *testing.T) {
	t.Parallel()
	for name, rules := range roles(t) {
		for _, rule := range rules {
			for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
				if slices.ContainsFunc(part, func(s string) bool { return strings.Contains(s, "*") }) {
					t.Errorf("%s has a wildcard: %v", name, rule)
				}
			}
		}
	}
}

func TestBindingsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	known := roles(t)
	account := only[*corev1.ServiceAccount](t)
	check := func(name string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if known[ref.Kind+" "+ref.Name] == nil {
			t.Errorf("binding %s names %s %s, which is not rendered", name, ref.Kind, ref.Name)
		}
		want := rbacv1.Subject{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}
		if !slices.Equal(subjects, []rbacv1.Subject{want}) {
			t.Errorf("binding %s binds %v, want the manager's account alone: %v", name, subjects, want)
		}
	}
	for _, b := range all[*rbacv1.ClusterRoleBinding](t) {
		check(b.Name, b.RoleRef, b.Subjects)
	}
	for _, b := range all[*rbacv1.RoleBinding](t) {
		check(b.Name, b.RoleRef, b.Subjects)
	}
	if got := only[*appsv1.Deployment](t).Spec.Template.Spec.ServiceAccountName; got != account.Name {
		t.Errorf("the manager runs as %q, want %q", got, account.Name)
	}
}

// risingwave-operator#1059, LLMKube#910: the recorder writes events.k8s.io.
func TestManagerMayWriteTheEventsThatItsRecorderWrites(t *testing.T) {
	t.Parallel()
	for _, rule := range roles(t)["ClusterRole memcached-operator-manager-role"] {
		if slices.Contains(rule.APIGroups, "events.k8s.io") && slices.Contains(rule.Resources, "events") {
			if !slices.Contains(rule.Verbs, "create") || !slices.Contains(rule.Verbs, "patch") {
				t.Errorf("the manager may only %v events, want create and patch", rule.Verbs)
			}
			return
		}
	}
	t.Error("the manager may not write events.k8s.io")
}

// kube-prometheus#1511: client-side apply keeps the whole object in an annotation, and those end at 262,144 bytes.
func TestCRDsFitIntoTheLastAppliedAnnotation(t *testing.T) {
	t.Parallel()
	const limit = 262_144
	if got := len(all[*apiextensionsv1.CustomResourceDefinition](t)); got != 2 {
		t.Errorf("config/default has %d CRDs, want 2", got)
	}
	objects, err := rendered()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		crd, ok := o.Object.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			continue
		}
		annotation, err := yaml.YAMLToJSON(o.raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(annotation) >= limit {
			t.Errorf("CRD %s has %d bytes, want less than %d", crd.Name, len(annotation), limit)
		}
	}
}

// roles are the rendered rules by "Kind name".
func roles(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	for _, r := range all[*rbacv1.ClusterRole](t) {
		rules["ClusterRole "+r.Name] = r.Rules
	}
	for _, r := range all[*rbacv1.Role](t) {
		rules["Role "+r.Name] = r.Rules
	}
	return rules
}
