package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// controller-runtime#2937, #2994: a second manager in one process met "controller with name … already exists".
func TestControllerRuntime2937ManagerRestarts(t *testing.T) {
	t.Parallel()
	c := shared(t, Envtest)
	ns := Namespace(t, c)
	seen := make(chan string, 100)
	build := func(o manager.Options) (manager.Manager, error) {
		mgr, err := manager.New(c.Config(), o)
		if err != nil {
			return nil, err
		}
		return mgr, builder.ControllerManagedBy(mgr).Named("namesake").For(&corev1.ConfigMap{}).
			Complete(reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
				if r.Namespace == ns {
					seen <- r.Name
				}
				return reconcile.Result{}, nil
			}))
	}

	for _, name := range []string{"first", "second"} {
		running, err := RunManager(t.Context(), build)
		if err != nil {
			t.Fatal(err)
		}
		created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		if err := running.Manager.GetClient().Create(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		for got := ""; got != name; got = <-seen {
			t.Logf("the %s manager has reconciled %q", name, got)
		}
		for range 2 {
			if err := running.Stop(); err != nil {
				t.Errorf("stopping the %s manager: %v", name, err)
			}
		}
		<-running.Done()
	}
}

func TestRunManagerReportsWhatKeepsItFromRunning(t *testing.T) {
	t.Parallel()
	c := shared(t, Envtest)
	broken := errors.New("broken on purpose")
	for name, tc := range map[string]struct {
		build func(o manager.Options) (manager.Manager, error)
		want  string
	}{
		"Build": {
			build: func(manager.Options) (manager.Manager, error) { return nil, broken },
			want:  "building a manager: ",
		},
		"Start": {
			build: func(o manager.Options) (manager.Manager, error) {
				mgr, err := manager.New(c.Config(), o)
				if err != nil {
					return nil, err
				}
				return mgr, mgr.Add(manager.RunnableFunc(func(context.Context) error { return broken }))
			},
			want: "running the manager: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running, err := RunManager(t.Context(), tc.build)
			if err == nil {
				<-running.Done()
				err = running.Stop()
			}
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("RunManager() or Stop() = %v, want %q and the cause", err, tc.want)
			}
		})
	}
}
