package e2e_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/test/suite"
)

// undeploying is the operator's end. It comes last.
func undeploying() []story {
	return []story{{
		name: "make undeploy leaves nothing", cast: suite.Memcached,
		steps: func(s *stage, f *features.FeatureBuilder) {
			both := []*stage{s, s.beside(suite.MyApp)}
			f.Assess("created", each(both, func(s *stage) features.Func { return s.create(2) })).
				Assess("they serve", each(both, (*stage).serves)).
				Assess("undeployed", do(s.operator.Undeploy)).
				Assess("no pod is left", each(both, (*stage).noPods)).
				Assess("no namespace, CRD or role is left", do(s.nothingLeft))
		},
	}}
}

func (s *stage) nothingLeft(ctx context.Context) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return err
	}
	crds, err := client.New(s.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	for _, name := range []string{"memcacheds.cache.example.com", "myapps.app.example.com"} {
		if err := crds.Get(ctx, client.ObjectKey{Name: name}, crd); !apierrors.IsNotFound(err) {
			return fmt.Errorf("CRD %s is still there (%w)", name, err)
		}
	}
	if err := s.client.Get(ctx, client.ObjectKey{Name: systemNamespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s is still there (%w)", systemNamespace, err)
	}
	roles := &rbacv1.ClusterRoleList{}
	if err := s.client.List(ctx, roles, client.MatchingLabels{"app.kubernetes.io/part-of": "memcached-operator"}); err != nil {
		return err
	}
	if len(roles.Items) > 0 {
		return fmt.Errorf("%d ClusterRoles are still there, the first is %s", len(roles.Items), roles.Items[0].Name)
	}
	return nil
}
