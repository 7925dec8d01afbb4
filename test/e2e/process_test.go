package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example-inc/memcached-operator/harness/cluster"
	program "github.com/example-inc/memcached-operator/test/operator"
	"github.com/example-inc/memcached-operator/test/suite"
)

// process is what becomes of resources when something becomes of the operator's own process.
func process() []story {
	return []story{
		{
			name: "The operator, asked to end, hands over", cast: suite.Memcached,
			steps: func(s *stage, f *features.FeatureBuilder) { s.killed(f, syscall.SIGTERM, s.handOver) },
		},
		{
			name: "The operator, killed, is succeeded", cast: suite.MyApp, needs: []cluster.Capability{leaderAccess},
			steps: func(s *stage, f *features.FeatureBuilder) { s.killed(f, syscall.SIGKILL, s.expiry) },
		},
		{
			name: "What is deleted while the operator is down goes when it is back", cast: suite.Memcached,
			steps: func(s *stage, f *features.FeatureBuilder) {
				both := []*stage{s, s.beside(suite.MyApp)}
				f.Assess("created", each(both, func(s *stage) features.Func { return s.create(2) })).
					Assess("they serve", each(both, (*stage).serves)).
					Assess("the operator ends", do(s.operator.Down)).
					Assess("deleted", each(both, func(s *stage) features.Func { return s.delete(metav1.DeletePropagationBackground) })).
					Assess("they wait", each(both, (*stage).waits)).
					Assess("the operator is back", do(s.operator.Up)).
					Assess("they go", each(both, (*stage).gone)).
					Assess("no pod is left", each(both, (*stage).noPods))
			},
		},
		{
			name: "An upgrade of the operator restarts no pod", cast: suite.Memcached,
			steps: func(s *stage, f *features.FeatureBuilder) {
				both := []*stage{s, s.beside(suite.MyApp)}
				before := map[*stage]*remembered{both[0]: {}, both[1]: {}}
				f.Assess("created", each(both, func(s *stage) features.Func { return s.create(2) })).
					Assess("they serve", each(both, (*stage).serves)).
					Assess("their pods are known", each(both, func(s *stage) features.Func { return s.remember(before[s]) })).
					Assess("the operator is upgraded", do(s.operator.Upgrade)).
					Assess("scaled up", each(both, func(s *stage) features.Func { return s.scale(3) })).
					Assess("they serve", each(both, (*stage).serves)).
					Assess("with the pods that were there", each(both, func(s *stage) features.Func { return s.contains(before[s]) }))
			},
		},
		refusedNothing("The operator's own troubles took no right that its role does not give"),
		{
			name: "The API server restarts", cast: suite.Memcached, needs: []cluster.Capability{nodeAccess},
			steps: func(s *stage, f *features.FeatureBuilder) {
				before := &remembered{}
				f.Assess("created", s.create(2)).
					Assess("it serves", s.serves()).
					Assess("its pods are known", s.remember(before)).
					Assess("the API server is killed and comes back", do(s.restartAPIServer)).
					Assess("scaled up", s.scale(3)).
					Assess("it serves", s.serves()).
					Assess("with the pods that were there", s.contains(before))
			},
		},
	}
}

// handOver is what a takeover may take when the leader gives its Lease back: so little of the Lease that nobody can have waited for
// it to expire. How long it does take, which is under three seconds where nothing else runs, is among the times at the end.
func (s *stage) handOver(ctx context.Context) (time.Duration, error) {
	lease, err := s.leaseDuration(ctx)
	return lease / 3, err
}

// expiry is what it may take when the leader cannot: a successor waits for the Lease to expire, looking at it every now and then.
func (s *stage) expiry(ctx context.Context) (time.Duration, error) {
	const look = 2 * 2200 * time.Millisecond // Twice the retry period, with its jitter: to see the last renewal, and to take over.
	lease, err := s.leaseDuration(ctx)
	return lease + look, err
}

func (s *stage) leaseDuration(ctx context.Context) (time.Duration, error) {
	lease := &coordinationv1.Lease{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: program.LeaseName}, lease); err != nil {
		return 0, err
	}
	return time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second, nil
}

// killed kills the leader and measures how long there is none, then has the successor and a new standby do something.
func (s *stage) killed(f *features.FeatureBuilder, sig syscall.Signal, atMost func(context.Context) (time.Duration, error)) {
	before := &remembered{}
	f.Assess("created", s.create(2)).
		Assess("it serves", s.serves()).
		Assess("its pods are known", s.remember(before)).
		Assess("another takes over in time", do(func(ctx context.Context) error {
			former, err := program.Leader(ctx, s.client, systemNamespace)
			if err != nil {
				return err
			}
			within, err := atMost(ctx)
			if err != nil {
				return err
			}
			start := time.Now()
			if err := s.operator.KillLeader(ctx, sig); err != nil {
				return err
			}
			if err := s.awaitLeader(ctx, former); err != nil {
				return err
			}
			took := time.Since(start)
			s.times.add(row{what: fmt.Sprintf("  takeover after %s", sig), verdict: "measured", took: took})
			if took > within {
				return fmt.Errorf("the takeover took %s, want at most %s", took, within)
			}
			return nil
		})).
		Assess("scaled up", s.scale(3)).
		Assess("it serves", s.serves()).
		Assess("with the pods that were there", s.contains(before)).
		Assess("there are two managers again", do(s.operator.Up))
}

// each makes one step of the same one of several stages.
func each(stages []*stage, step func(*stage) features.Func) features.Func {
	return func(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
		t.Helper()
		for _, s := range stages {
			ctx = step(s)(ctx, t, cfg)
		}
		return ctx
	}
}

// waits checks that the resource is being deleted, and held back.
func (s *stage) waits() features.Func {
	return do(func(ctx context.Context) error {
		err := s.read(ctx)
		if err == nil && (s.owner.GetDeletionTimestamp() == nil || len(s.owner.GetFinalizers()) == 0) {
			err = fmt.Errorf("%s ends at %v with the finalizers %v", s.name(), s.owner.GetDeletionTimestamp(), s.owner.GetFinalizers())
		}
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("%s did not wait for the operator", s.name())
		}
		return err
	})
}

// restartAPIServer kills kube-apiserver on the control plane's node, and waits until the kubelet has started another that
// is ready.
func (s *stage) restartAPIServer(ctx context.Context) error {
	const find = "crictl ps --quiet --name '^kube-apiserver$'"
	node, err := s.controlPlane(ctx)
	if err != nil {
		return err
	}
	former, err := s.onNode(ctx, node, find)
	if err != nil {
		return err
	}
	if _, err := s.onNode(ctx, node, "crictl stop --timeout 0 "+strings.TrimSpace(former)); err != nil {
		return err
	}
	return await(ctx, "another kube-apiserver", func(ctx context.Context) (string, bool, error) {
		now, err := s.onNode(ctx, node, find)
		if err != nil || now == "" || now == former {
			return "its container is " + now, false, err
		}
		answer, err := s.clients.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return string(answer), err == nil, err
	})
}

// controlPlane is the name of the control plane's node.
func (s *stage) controlPlane(ctx context.Context) (string, error) {
	nodes := &corev1.NodeList{}
	if err := s.client.List(ctx, nodes, client.HasLabels{"node-role.kubernetes.io/control-plane"}); err != nil {
		return "", err
	}
	if len(nodes.Items) == 0 {
		return "", errors.New("finding the control plane: no node has it")
	}
	return nodes.Items[0].Name, nil
}
