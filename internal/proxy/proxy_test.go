package proxy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"pgregory.net/rapid"
)

// camel-k#1402, oadp-operator#440, noobaa-operator#313: what is set is read, in either case, and nothing else.
func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		env    map[string]string
		want   []Setting
	}{
		"Unset": {reason: "nothing is set, nothing is handed on", env: nil, want: nil},
		"Empty": {reason: "an empty variable is not set", env: map[string]string{"HTTP_PROXY": "", "http_proxy": ""}, want: nil},
		"All": {
			reason: "always in the same order",
			env:    map[string]string{"NO_PROXY": "n", "HTTPS_PROXY": "s", "HTTP_PROXY": "h"},
			want:   []Setting{{"HTTP_PROXY", "h"}, {"HTTPS_PROXY", "s"}, {"NO_PROXY", "n"}},
		},
		"LowerCase":  {reason: "curl and others read the lower case", env: map[string]string{"no_proxy": "n"}, want: []Setting{{"NO_PROXY", "n"}}},
		"UpperFirst": {reason: "one of the two has to win", env: map[string]string{"http_proxy": "l", "HTTP_PROXY": "u"}, want: []Setting{{"HTTP_PROXY", "u"}}},
		"UpperEmpty": {reason: "an empty variable does not win", env: map[string]string{"http_proxy": "l", "HTTP_PROXY": ""}, want: []Setting{{"HTTP_PROXY", "l"}}},
		"Unrelated":  {reason: "others are none of our business", env: map[string]string{"ALL_PROXY": "a"}, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := FromEnvironment(func(key string) string { return tc.env[key] })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: FromEnvironment() (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// pairs are env's variables as name=value, and name alone for one without a value.
func pairs(env []*corev1ac.EnvVarApplyConfiguration) []string {
	var all []string
	for _, v := range env {
		if v.Value == nil {
			all = append(all, *v.Name)
			continue
		}
		all = append(all, *v.Name+"="+*v.Value)
	}
	return all
}

// camel-k#1402, oadp-operator#440, noobaa-operator#313: both cases, only what is set, the user's own wins, in a stable order.
func TestEnv(t *testing.T) {
	t.Parallel()
	settings := []Setting{{"HTTP_PROXY", "h"}, {"NO_PROXY", "n"}}
	for name, tc := range map[string]struct {
		reason   string
		settings []Setting
		user     map[string]string
		want     []string
	}{
		"None":      {reason: "nothing set, nothing there"},
		"BothCases": {reason: "programs disagree about the case", settings: settings, want: []string{"HTTP_PROXY=h", "http_proxy=h", "NO_PROXY=n", "no_proxy=n"}},
		"Sorted":    {reason: "trustee-operator#167: the order of a map is no order", user: map[string]string{"b": "2", "a": "1", "c": "3"}, want: []string{"a=1", "b=2", "c=3"}},
		"UserFirst": {
			reason: "the user's variables come first", settings: settings[:1], user: map[string]string{"Z": "1"}, want: []string{"Z=1", "HTTP_PROXY=h", "http_proxy=h"},
		},
		"UserUpper": {
			reason: "a variable of the user in one case is not contradicted in the other", settings: settings, user: map[string]string{"HTTP_PROXY": "mine"},
			want: []string{"HTTP_PROXY=mine", "NO_PROXY=n", "no_proxy=n"},
		},
		"UserLower": {
			reason: "the same the other way round", settings: settings, user: map[string]string{"no_proxy": "mine"},
			want: []string{"no_proxy=mine", "HTTP_PROXY=h", "http_proxy=h"},
		},
		"UserEmpty": {
			reason:   "an empty variable is how a user turns the proxy off; the API server keeps no empty value, so none is sent",
			settings: settings[:1], user: map[string]string{"HTTP_PROXY": ""}, want: []string{"HTTP_PROXY"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, pairs(Env(tc.settings, tc.user))); diff != "" {
				t.Errorf("%s: Env() (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// trustee-operator#167, kubernetes#58477: the same input gives the same list, and no name twice.
func TestEnvIsDeterministicAndUnique(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "A", "b", "_"})
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.MapOf(names, rapid.String()).Draw(t, "environment")
		user := rapid.MapOf(names, rapid.String()).Draw(t, "user")
		settings := FromEnvironment(func(key string) string { return set[key] })

		first := pairs(Env(settings, user))
		seen := map[string]bool{}
		for _, v := range Env(settings, user) {
			if seen[*v.Name] {
				t.Errorf("%s is there twice: %v", *v.Name, first)
			}
			seen[*v.Name] = true
		}
		for name := range user {
			if !seen[name] {
				t.Errorf("the user's %s is missing: %v", name, first)
			}
		}
		for range 10 {
			if diff := cmp.Diff(first, pairs(Env(settings, user))); diff != "" {
				t.Fatalf("built again (-first +again):\n%s", diff)
			}
		}
	})
}
