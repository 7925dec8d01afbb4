package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/suite"
)

// needs is the label of features with what their level must be able to do.
const needs = "needs"

// nodeAccess means that the test can act on the machines of the nodes: they are containers of the local engine.
const nodeAccess cluster.Capability = "node-access"

// story is one feature, and what it needs.
type story struct {
	name  string
	kind  *suite.Kind
	needs []cluster.Capability
	// steps adds the feature's steps, which are played on a stage of its own.
	steps func(s *stage, f *features.FeatureBuilder)
}

// lacking is what the level cannot do, in the form by which e2e-framework skips.
func (s *site) lacking() map[string][]string {
	var lacks []string
	for _, c := range []cluster.Capability{cluster.Containers, cluster.NetworkPolicies, nodeAccess} {
		if !s.can(c) {
			lacks = append(lacks, string(c))
		}
	}
	if lacks == nil {
		return nil
	}
	return map[string][]string{needs: lacks}
}

func (s *site) can(c cluster.Capability) bool {
	if c == nodeAccess {
		return s.Level() == cluster.Kind
	}
	return s.Has(c)
}

// together plays the story side by side with others.
func (s story) together(t *testing.T) {
	t.Run(s.title(), func(t *testing.T) {
		t.Parallel()
		s.play(t)
	})
}

// alone plays the story while no other is played.
func (s story) alone(t *testing.T) { t.Run(s.title(), s.play) }

func (s story) title() string {
	if s.kind == nil {
		return s.name
	}
	return s.kind.Name + " " + s.name
}

func (s story) play(t *testing.T) {
	f := features.New(fmt.Sprintf("on %s", on.Level()))
	for _, c := range s.needs {
		f.WithLabel(needs, string(c))
		if !on.can(c) {
			on.times.add(row{what: s.title(), verdict: "skipped", reason: fmt.Sprintf("the level %s has no %s", on.Level(), c)})
			testenv.WithContext(t.Context()).Test(t, f.Feature()) // Which prints that it skips.
			return
		}
	}
	start := time.Now()
	t.Cleanup(func() {
		verdict := "passed"
		if t.Failed() {
			verdict = "FAILED"
		}
		on.times.add(row{what: s.title(), verdict: verdict, took: time.Since(start)})
	})
	scene := &stage{site: on, kind: s.kind}
	f.WithSetup("a namespace of its own", scene.enter)
	s.steps(scene, f)
	testenv.WithContext(t.Context()).Test(t, f.Feature())
}

// stage is where one feature is played: a namespace of its own, and in it a resource of the feature's kind.
type stage struct {
	*site

	kind      *suite.Kind
	namespace string
	owner     client.Object // As last read.
}

// enter makes the namespace, under the restricted Pod Security Standard, which also warns. What is to be known of a failure is
// written before it goes, whatever ends the feature.
func (s *stage) enter(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	name, remove, err := cluster.CreateNamespace(ctx, s.Cluster, "e2e")
	if err != nil {
		t.Fatal(err)
	}
	s.namespace = name
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		if t.Failed() {
			s.diagnose(ctx, t, strings.ReplaceAll(t.Name(), "/", "-"))
		}
		if err := remove(ctx); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	if err := s.warn(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// do makes a step of an act that may fail.
func do(act func(ctx context.Context) error) features.Func {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		t.Helper()
		if err := act(ctx); err != nil {
			t.Fatal(err)
		}
		return ctx
	}
}
