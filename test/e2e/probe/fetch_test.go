package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// run runs the program and returns what it prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	root := rootCommand()
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestFetch(t *testing.T) {
	t.Parallel()
	var busy atomic.Int32
	ended := make(chan struct{}) // Not the request's end: an answer to that may come before the client gives up.
	handler := http.NewServeMux()
	handler.HandleFunc("/body", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the body")) })
	handler.HandleFunc("/forbidden", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not you", http.StatusForbidden) })
	handler.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you", http.StatusUnauthorized)
		}
	})
	handler.HandleFunc("/hang", func(http.ResponseWriter, *http.Request) { <-ended })
	handler.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		if busy.Add(1) < 3 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}
	})
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path string
		args []string
		out  string
		err  string
	}{
		"Body":          {path: "/body", args: []string{"--insecure"}, out: "the body"},
		"Certificate":   {path: "/body", err: "certificate"},
		"Token":         {path: "/token", args: []string{"--insecure", "--token-file", token}},
		"WithoutToken":  {path: "/token", args: []string{"--insecure"}, err: "401 Unauthorized: who are you"},
		"NoTokenFile":   {path: "/token", args: []string{"--insecure", "--token-file", "/no/such"}, err: "open /no/such"},
		"Forbidden":     {path: "/forbidden", args: []string{"--insecure"}, err: "403 Forbidden: not you"},
		"StatusOnly":    {path: "/forbidden", args: []string{"--insecure", "--status"}, out: "403\n"},
		"Hang":          {path: "/hang", args: []string{"--insecure", "--timeout", "100ms"}, err: context.DeadlineExceeded.Error()},
		"BusyForAWhile": {path: "/busy", args: []string{"--insecure", "--within", "1m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, append([]string{"fetch", server.URL + tc.path}, tc.args...)...)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if out != tc.out {
				t.Errorf("printed %q, want %q", out, tc.out)
			}
		})
	}
}
