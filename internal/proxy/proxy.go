// Package proxy hands the cluster's proxy settings on to the pods.
package proxy

import (
	"slices"
	"strings"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// Setting is one proxy variable, by its upper-case name.
type Setting struct {
	Name, Value string
}

// FromEnvironment reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY in either case, the upper case first. What is
// unset or empty is left out.
func FromEnvironment(getenv func(string) string) []Setting {
	var settings []Setting
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		value := getenv(name)
		if value == "" {
			value = getenv(strings.ToLower(name))
		}
		if value != "" {
			settings = append(settings, Setting{Name: name, Value: value})
		}
	}
	return settings
}

// Env is user's variables, sorted by name, followed by the settings in both cases. A variable that
// the user set in either case is the user's alone: programs disagree about which case wins.
func Env(settings []Setting, user map[string]string) []*corev1ac.EnvVarApplyConfiguration {
	env := make([]*corev1ac.EnvVarApplyConfiguration, 0, len(user)+2*len(settings))
	add := func(name, value string) {
		variable := corev1ac.EnvVar().WithName(name)
		if value != "" { // The API server does not keep an empty value: it would be missed, and applied, for ever.
			variable.WithValue(value)
		}
		env = append(env, variable)
	}

	names := make([]string, 0, len(user))
	for name := range user {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, user[name])
	}
	for _, setting := range settings {
		lower := strings.ToLower(setting.Name)
		_, hasUpper := user[setting.Name]
		_, hasLower := user[lower]
		if !hasUpper && !hasLower {
			add(setting.Name, setting.Value)
			add(lower, setting.Value)
		}
	}
	return env
}
