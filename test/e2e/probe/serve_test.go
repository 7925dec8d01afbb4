package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func get(t *testing.T, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err == nil {
		err = response.Body.Close()
	}
	return err
}

func TestServerTellsWhatItIsAskedFor(t *testing.T) {
	t.Setenv("GREETING", "hello")
	t.Setenv("EMPTY", "")
	t.Setenv("SECRET", "not asked for")
	t.Setenv(envVariant, "v2")
	recorder := httptest.NewRecorder()
	describe(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?env=GREETING&env=EMPTY&env=NO_SUCH", nil))
	var got answer
	if err := json.NewDecoder(recorder.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := answer{Pod: host, Variant: "v2", Env: map[string]string{"GREETING": "hello", "EMPTY": ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// A rollout must not lose requests of those who have not heard yet that the pod ends.
func TestServerEndsGracefully(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	url := "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, time.Second) }()
	if err := get(t, url); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := get(t, url); err != nil {
		t.Errorf("it refuses requests as soon as it is told to end: %v", err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the server has not ended within 30 s")
	}
	if err := get(t, url); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("want the connection to be refused after the end, got %v", err)
	}
}

func TestPortComesFromTheEnvironment(t *testing.T) {
	for name, tc := range map[string]struct{ port, want string }{"Unset": {"", defaultPort}, "Set": {"9000", "9000"}} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(envPort, tc.port)
			if got := serveCommand().Flag("port").DefValue; got != tc.want {
				t.Errorf("the port is %s, want %s", got, tc.want)
			}
		})
	}
}

func TestPortInUseIsAnError(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(listen(t).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	root := rootCommand()
	root.SetArgs([]string{"serve", "--port", port})
	if err := root.ExecuteContext(t.Context()); !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), "serving: ") {
		t.Errorf("serve = %v, want the address to be in use", err)
	}
}
