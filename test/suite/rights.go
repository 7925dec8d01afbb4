package suite

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example-inc/memcached-operator/config/rbac"
)

// user is whom the operator acts as in all suites, and the name of the role and its binding.
const user = "suite-memcached-operator"

// grant makes a user with exactly the rights of the role that is shipped, so that a right that is missing there shows, and
// returns once the API server knows them.
func (s *Suite) grant(ctx context.Context) (*rest.Config, error) {
	var shipped rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(rbac.Role, &shipped); err != nil {
		return nil, fmt.Errorf("decoding the shipped role: %w", err)
	}
	role := rbacv1ac.ClusterRole(user)
	for _, rule := range shipped.Rules {
		role.WithRules(rbacv1ac.PolicyRule().
			WithAPIGroups(rule.APIGroups...).WithResources(rule.Resources...).WithVerbs(rule.Verbs...))
	}
	binding := rbacv1ac.ClusterRoleBinding(user).
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(user)).
		WithSubjects(rbacv1ac.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.UserKind).WithName(user))
	if err := s.Client.Apply(ctx, role, client.FieldOwner(user), client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("applying the shipped role: %w", err)
	}
	if err := s.Client.Apply(ctx, binding, client.FieldOwner(user), client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("binding the shipped role: %w", err)
	}
	config, err := s.Cluster.AddUser(ctx, user)
	if err != nil {
		return nil, err
	}
	return config, s.awaitRights(ctx, shipped.Rules)
}

// awaitRights asks for the first right of the last rule, which the API server learns together with all others.
func (s *Suite) awaitRights(ctx context.Context, rules []rbacv1.PolicyRule) error {
	last := rules[len(rules)-1]
	return wait.PollUntilContextTimeout(ctx, pollEvery, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: last.APIGroups[0], Resource: last.Resources[0], Verb: last.Verbs[0], Namespace: "default",
			},
		}}
		err := s.Client.Create(ctx, review)
		return review.Status.Allowed, err
	})
}
