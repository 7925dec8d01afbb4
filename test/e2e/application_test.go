package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	appv1alpha1 "github.com/example-inc/memcached-operator/api/app/v1alpha1"
	"github.com/example-inc/memcached-operator/harness/cluster"
	"github.com/example-inc/memcached-operator/test/suite"
)

const (
	// portOfApp is not the default of the schema, nor that of the image.
	portOfApp = 9090
	greeting  = "hello from the spec"
	// probeUser is anyone but root.
	probeUser = 65532
)

// application is what clients see. They run in pods, under the restricted standard like all others.
func application(kind *suite.Kind) []story {
	containers := []cluster.Capability{cluster.Containers}
	if kind == suite.MyApp {
		return []story{{
			name: "answers at its port with its environment", kind: kind, needs: containers,
			steps: func(s *stage, f *features.FeatureBuilder) {
				f.Assess("created", s.create(2, func(o client.Object) {
					app := o.(*appv1alpha1.MyApp)
					app.Spec.Port = new(int32(portOfApp))
					app.Spec.Env = map[string]string{"PORT": strconv.Itoa(portOfApp), "GREETING": greeting}
				})).
					Assess("it serves", s.serves()).
					Assess("a client is answered", s.answers())
			},
		}}
	}
	return []story{{
		name: "keeps what clients set, on all of its servers", kind: kind, needs: containers,
		steps: func(s *stage, f *features.FeatureBuilder) {
			f.Assess("created", s.create(2)).
				Assess("it serves", s.serves()).
				Assess("a client finds both servers", s.answers()).
				Assess("a client sets keys", s.memcached("set", 2, 0)).
				Assess("scaled up", s.scale(3)).
				Assess("it serves with 3", s.serves()).
				Assess("a client of all three finds keys of before", s.memcached("get", 3, 1)).
				Assess("and uses all of them", s.answers()).
				Assess("scaled down", s.scale(1)).
				Assess("it serves with 1", s.serves()).
				Assess("a client uses the one", s.answers())
		},
	}}
}

// answers has a client ask the resource's Service, as the spec says now: every server of a Memcached, any pod of a MyApp.
func (s *stage) answers() features.Func {
	return func(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
		t.Helper()
		if s.kind == suite.Memcached {
			return s.memcached("spread", int(**s.kind.Replicas(s.owner)), 0)(ctx, t, cfg)
		}
		return do(s.greets)(ctx, t, cfg)
	}
}

// memcached has a client act on n servers, which the names of the headless Service lead to, and count at least as many hits.
func (s *stage) memcached(what string, n, hits int) features.Func {
	return do(func(ctx context.Context) error {
		out, err := s.ask(ctx, "memcached", what, "--servers", strconv.Itoa(n), s.owner.GetName())
		if err != nil {
			return err
		}
		var summary struct {
			Servers     []string
			Hits, Wrong int
		}
		if err := json.Unmarshal([]byte(out), &summary); err != nil {
			return fmt.Errorf("reading what the client said, %q: %w", out, err)
		}
		if len(summary.Servers) != n || summary.Wrong > 0 || summary.Hits < hits {
			return fmt.Errorf("the client said %s, want %d servers, no wrong value and at least %d hits", out, n, hits)
		}
		return nil
	})
}

// greets has a client ask a MyApp for a variable of its environment.
func (s *stage) greets(ctx context.Context) error {
	app := s.owner.(*appv1alpha1.MyApp)
	url := "http://" + net.JoinHostPort(app.Name, strconv.Itoa(int(*app.Spec.Port))) + "/?env=GREETING"
	out, err := s.ask(ctx, "fetch", "--within", "30s", url)
	if err != nil {
		return err
	}
	var answer struct {
		Pod string
		Env map[string]string
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return fmt.Errorf("reading the answer %q: %w", out, err)
	}
	running, err := s.running(ctx)
	if err == nil && (!slices.Contains(running, answer.Pod) || answer.Env["GREETING"] != app.Spec.Env["GREETING"]) {
		err = fmt.Errorf("the answer is %s, want one of the pods %v and the GREETING %q", out, running, app.Spec.Env["GREETING"])
	}
	return err
}

// ask runs the probe in a pod of the feature's namespace, and returns what it printed.
func (s *stage) ask(ctx context.Context, args ...string) (string, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "client-", Namespace: s.namespace},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(probeUser)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "probe", Image: s.images.probe, Args: args,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	if err := s.client.Create(ctx, pod); err != nil {
		return "", err
	}
	if err := await(ctx, "the client to end", func(ctx context.Context) (string, bool, error) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		done := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		return fmt.Sprintf("it is %s: %v", pod.Status.Phase, pod.Status.ContainerStatuses), done, err
	}); err != nil {
		return "", err
	}
	out, err := s.podLog(ctx, s.namespace, pod.Name, &corev1.PodLogOptions{})
	if err == nil && pod.Status.Phase == corev1.PodFailed {
		err = fmt.Errorf("the client %v failed: %s", args, out)
	}
	return out, err
}
