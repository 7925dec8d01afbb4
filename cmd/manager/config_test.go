package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example-inc/memcached-operator/internal/proxy"
)

// env is an environment that no test shares with the process.
type env map[string]string

func (e env) get(name string) string { return e[name] }

var ignoreLog = cmpopts.IgnoreFields(settings{}, "log")

func TestParse(t *testing.T) {
	t.Parallel()
	with := func(change func(*settings)) settings {
		s := settings{
			memcachedImage: defaultMemcachedImage, concurrency: defaultConcurrency,
			leaderElect: true, leaderNamespace: "ops",
			probeAddress: ":8081", metricsAddress: ":8443", metricsSecure: true,
		}
		change(&s)
		return s
	}
	for name, tc := range map[string]struct {
		reason string
		args   []string
		env    env
		want   settings
	}{
		"Defaults": {
			reason: "nothing given means everything at its default",
			want:   with(func(*settings) {}),
		},
		"OneNamespace": {
			reason: "OLM sets the variable to one namespace",
			env:    env{envNamespaces: "team-a"},
			want:   with(func(s *settings) { s.watchNamespaces = []string{"team-a"} }),
		},
		"SeveralNamespaces": {
			reason: "order, blanks and repetition do not matter",
			env:    env{envNamespaces: "team-b, team-a,team-b"},
			want:   with(func(s *settings) { s.watchNamespaces = []string{"team-a", "team-b"} }),
		},
		"FlagWinsOverNamespaceVariable": {
			reason: "an empty flag asks for all namespaces in spite of the variable",
			args:   []string{"--watch-namespaces="},
			env:    env{envNamespaces: "team-a"},
			want:   with(func(*settings) {}),
		},
		"WrongVariableBehindFlag": {
			reason: "a variable that a flag overrules is not read",
			args:   []string{"--watch-namespaces", "team-a"},
			env:    env{envNamespaces: "Not A Namespace"},
			want:   with(func(s *settings) { s.watchNamespaces = []string{"team-a"} }),
		},
		"ImageVariable": {
			reason: "related images come from the environment",
			env:    env{envMemcachedImage: "localhost:5000/cache/memcached:1.6"},
			want:   with(func(s *settings) { s.memcachedImage = "localhost:5000/cache/memcached:1.6" }),
		},
		"ImageFlagWins": {
			reason: "the flag is nearer than the variable",
			args:   []string{"--memcached-image=memcached:flag"},
			env:    env{envMemcachedImage: "memcached:variable"},
			want:   with(func(s *settings) { s.memcachedImage = "memcached:flag" }),
		},
		"EverythingElse": {
			reason: "each flag reaches its setting",
			args: []string{"--max-concurrent-reconciles=3", "--leader-elect=false", "--leader-election-namespace=elsewhere",
				"--health-probe-bind-address=127.0.0.1:1", "--metrics-bind-address=0", "--metrics-secure=false", "--enable-http2"},
			want: with(func(s *settings) {
				s.concurrency, s.leaderElect, s.leaderNamespace = 3, false, "elsewhere"
				s.probeAddress, s.metricsAddress, s.metricsSecure, s.http2 = "127.0.0.1:1", "0", false, true
			}),
		},
		"Proxies": {
			reason: "a proxy may come in either case, with or without its scheme",
			env:    env{"HTTP_PROXY": "http://user:secret@proxy:3128", "https_proxy": "proxy:3128", "NO_PROXY": "*"},
			want: with(func(s *settings) {
				s.proxy = []proxy.Setting{
					{Name: "HTTP_PROXY", Value: "http://user:secret@proxy:3128"},
					{Name: "HTTPS_PROXY", Value: "proxy:3128"},
					{Name: "NO_PROXY", Value: "*"},
				}
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := env{envOwnNamespace: "ops"}
			maps.Copy(environment, tc.env)
			got, err := parse(tc.args, environment.get)
			if err != nil {
				t.Fatalf("%s: parse() failed: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(settings{}), ignoreLog); diff != "" {
				t.Errorf("%s: parse() (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Each wrong value ends the manager with one line that names what was set, to what, and the rule.
func TestWrongValuesEndItWithOneLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		env  env
		want []string
	}{
		"UnknownFlag":        {args: []string{"--colour=blue"}, want: []string{"-colour", "--help"}},
		"StrayArgument":      {args: []string{"serve"}, want: []string{`"serve"`, "only flags"}},
		"NamespaceFlag":      {args: []string{"--watch-namespaces=team_a"}, want: []string{"-watch-namespaces", `"team_a"`, "lower-case"}},
		"NamespaceGap":       {env: env{envNamespaces: "a,,b"}, want: []string{envNamespaces, `"a,,b"`, "no namespace name"}},
		"ImageFlag":          {args: []string{"--memcached-image=UPPER:1"}, want: []string{"-memcached-image", `"UPPER:1"`, "lowercase"}},
		"ImageVariable":      {env: env{envMemcachedImage: "memcached:"}, want: []string{envMemcachedImage, `"memcached:"`, "image reference"}},
		"NoConcurrency":      {args: []string{"--max-concurrent-reconciles=0"}, want: []string{"-max-concurrent-reconciles", `"0"`, "from 1 to 256"}},
		"WordyConcurrency":   {args: []string{"--max-concurrent-reconciles=many"}, want: []string{`"many"`, "whole number"}},
		"NoPort":             {args: []string{"--metrics-bind-address=localhost"}, want: []string{"-metrics-bind-address", `"localhost"`, "host:port"}},
		"BigPort":            {args: []string{"--health-probe-bind-address=:65536"}, want: []string{"-health-probe-bind-address", `":65536"`, "65535"}},
		"StrangeHost":        {args: []string{"--metrics-bind-address=a_b:1"}, want: []string{`"a_b:1"`, "host name"}},
		"NoBool":             {args: []string{"--leader-elect=perhaps"}, want: []string{"-leader-elect", `"perhaps"`, "true or false"}},
		"LeaseNamespace":     {args: []string{"--leader-election-namespace=-"}, want: []string{"-leader-election-namespace", `"-"`}},
		"NoLeaseNamespace":   {env: env{envOwnNamespace: ""}, want: []string{"-leader-election-namespace", "outside a pod"}},
		"NoCertificate":      {args: []string{"--metrics-cert-dir=/nowhere"}, want: []string{"-metrics-cert-dir", `"/nowhere"`, "tls.crt"}},
		"LogLevel":           {args: []string{"--zap-log-level=loud"}, want: []string{"-zap-log-level", `"loud"`, "'debug'"}},
		"NoKubeconfig":       {args: []string{"--kubeconfig=/nowhere"}, want: []string{"-kubeconfig", `"/nowhere"`, "exists"}},
		"ProxyScheme":        {env: env{"HTTPS_PROXY": "ftp://proxy"}, want: []string{"HTTPS_PROXY", `"ftp://proxy"`, "http://proxy.example.com"}},
		"ProxyWithoutAHost":  {env: env{"http_proxy": "http://"}, want: []string{"http_proxy", `"http://"`}},
		"ProxyWithAPassword": {env: env{"HTTP_PROXY": "ftp://me:secret@proxy"}, want: []string{"HTTP_PROXY", `"proxy"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := env{envOwnNamespace: "ops"}
			maps.Copy(environment, tc.env)
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), tc.args, environment.get, &stdout, &stderr); code != exitUsage {
				t.Errorf("run() = %d, want %d", code, exitUsage)
			}
			line := stderr.String()
			if strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "manager: ") || stdout.Len() > 0 {
				t.Errorf("want one line on stderr and nothing on stdout, got %q and %q", line, stdout.String())
			}
			for _, part := range tc.want {
				if !strings.Contains(line, part) {
					t.Errorf("%q does not mention %q", line, part)
				}
			}
			if strings.Contains(line, "secret") {
				t.Errorf("%q tells a password", line)
			}
		})
	}
}

func TestCertificatesNeedHTTPS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--leader-elect=false", "--metrics-cert-dir", dir}
	if _, err := parse(args, env{}.get); err != nil {
		t.Errorf("a directory with both files is refused: %v", err)
	}
	_, err := parse(append(args, "--metrics-secure=false"), env{}.get)
	if err == nil || !strings.Contains(err.Error(), "-metrics-secure=false") {
		t.Errorf("a certificate that would not be served is accepted: %v", err)
	}
}

func TestHelpAndVersionGoToStdout(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--help": "-watch-namespaces", "--version": "("} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{flag}, env{}.get, &stdout, &stderr)
		if code != exitOK || stderr.Len() > 0 || !strings.Contains(stdout.String(), want) {
			t.Errorf("run(%s) = %d, stdout %q, stderr %q; want 0 and %q", flag, code, stdout.String(), stderr.String(), want)
		}
	}
}

func TestZapFlagsReachTheLogger(t *testing.T) {
	t.Parallel()
	got, err := parse([]string{"--leader-elect=false", "--zap-devel", "--zap-log-level=debug"}, env{}.get)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zap.New(zap.UseFlagOptions(&got.log), zap.WriteTo(&out)).V(1).Info("fine detail")
	if !strings.Contains(out.String(), "fine detail") {
		t.Errorf("debug logging is off, got %q", out.String())
	}
}
