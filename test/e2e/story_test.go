package e2e_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/suite"
)

// needs is the label of features with what their level must be able to do.
const needs = "needs"

// What a feature may need besides what a cluster can do.
const (
	// nodeAccess means that the nodes' own processes are at hand: the nodes are containers of the local engine.
	nodeAccess cluster.Capability = "access-to-the-nodes"
	// leaderAccess means that the operator's own processes are.
	leaderAccess cluster.Capability = "access-to-the-operators-processes"
	// ownNodes means that nobody else needs the nodes.
	ownNodes cluster.Capability = "nodes-of-its-own"
)

// story is one feature, and what it needs.
type story struct {
	name string
	// kind is what the feature is shown for. A feature of the operator itself has a cast instead: a kind to show it by.
	kind, cast *suite.Kind
	needs      []cluster.Capability
	// steps adds the feature's steps, which are played on a stage of its own.
	steps func(s *stage, f *features.FeatureBuilder)
}

// lacking is what the level cannot do, in the form by which e2e-framework skips.
func (s *site) lacking() map[string][]string {
	var lacks []string
	for _, c := range []cluster.Capability{cluster.Containers, nodeAccess, leaderAccess, ownNodes} {
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
	switch c {
	case nodeAccess:
		return s.Level() == cluster.Kind
	case leaderAccess:
		return s.Level() == cluster.Kind || !s.Has(cluster.Containers)
	case ownNodes:
		return s.Level() != cluster.Existing
	default:
		return s.Has(c)
	}
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
	scene := &stage{site: on, kind: cmp.Or(s.kind, s.cast)}
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
	guests    []*stage
}

// beside is a stage for a resource of another kind in the same namespace.
func (s *stage) beside(kind *suite.Kind) *stage {
	guest := &stage{site: s.site, kind: kind}
	s.guests = append(s.guests, guest)
	return guest
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
	for _, guest := range s.guests {
		guest.namespace = name
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		if t.Failed() {
			s.diagnose(ctx, t, strings.ReplaceAll(t.Name(), "/", "-"))
		}
		if err := errors.Join(s.letGo(ctx), remove(ctx)); err != nil {
			t.Error(err)
		}
	})
	if err := s.warn(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// letGo deletes the resources before their namespace goes, so that the operator does not try to keep up what goes with it.
func (s *stage) letGo(ctx context.Context) error {
	for _, stage := range append(s.guests, s) {
		if stage.owner == nil {
			continue
		}
		if err := s.client.Delete(ctx, stage.owner); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return fmt.Errorf("deleting %s: %w", stage.name(), err)
		}
	}
	return nil
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
