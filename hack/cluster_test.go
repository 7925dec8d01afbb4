package hack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeKubectl logs its arguments. Custom resources go one with each look, unless a file "stuck" is beside it.
const fakeKubectl = `#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
case "$*" in
"config current-context") [ -e "$here/no-context" ] && exit 1; echo test-context ;;
"get crds"*)
	echo customresourcedefinition.apiextensions.k8s.io/memcacheds.cache.example.com
	echo customresourcedefinition.apiextensions.k8s.io/others.example.com ;;
"get memcacheds.cache.example.com "*)
	[ -s "$here/resources" ] && cat "$here/resources"
	[ -e "$here/stuck" ] || sed -i 1d "$here/resources" ;;
esac
exit 0
`

// script runs hack/cluster.sh with a kubectl that files steer, and returns its output and what kubectl was asked.
func script(t *testing.T, command string, files ...string) (out string, calls []string, err error) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil { //nolint:gosec // One of them is executed.
			t.Fatal(err)
		}
	}
	write("kubectl", fakeKubectl)
	write("resources", "Memcached a one\nMemcached b two\n")
	for _, name := range files {
		write(name, "")
	}
	cmd := exec.CommandContext(t.Context(), "./cluster.sh", command)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TIMEOUT=3", "IMG=example/operator:v1")
	combined, err := cmd.CombinedOutput()
	log, readErr := os.ReadFile(filepath.Join(dir, "calls")) //nolint:gosec // In the test's own directory.
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(combined), strings.Split(strings.TrimSpace(string(log)), "\n"), err
}

// operator-sdk#3967: a custom resource that outlives the operator is stuck in Terminating for ever.
func TestUndeployDeletesTheCustomResourcesFirst(t *testing.T) {
	t.Parallel()
	out, calls, err := script(t, "undeploy")
	if err != nil {
		t.Fatalf("undeploy failed: %v\n%s", err, out)
	}
	deleted, gone, removed := -1, -1, -1
	for i, call := range calls {
		switch {
		case strings.HasPrefix(call, "delete memcacheds.cache.example.com --all --all-namespaces"):
			deleted = i
		case strings.HasPrefix(call, "get memcacheds.cache.example.com"):
			gone = i
		case strings.HasPrefix(call, "delete --ignore-not-found -k config/default"):
			removed = i
		}
	}
	if deleted < 0 || gone < deleted || removed < gone {
		t.Errorf("want the custom resources deleted, awaited, and then the rest removed; kubectl was asked:\n%s", strings.Join(calls, "\n"))
	}
	if !strings.HasPrefix(out, "undeploy: context test-context\n") {
		t.Errorf("the context does not come first:\n%s", out)
	}
	if !strings.Contains(out, "waiting for 2 custom resources to go") || !strings.Contains(out, "all custom resources are gone") {
		t.Errorf("no progress is shown:\n%s", out)
	}
}

func TestUndeployRemovesNothingElseWhileACustomResourceIsStuck(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"undeploy", "uninstall"} {
		out, calls, err := script(t, command, "stuck")
		if err == nil {
			t.Errorf("%s succeeded in spite of stuck resources", command)
		}
		if !strings.Contains(out, "Memcached a one") || !strings.Contains(out, "Is the operator running?") {
			t.Errorf("%s does not say what is stuck and what to do:\n%s", command, out)
		}
		if last := calls[len(calls)-1]; strings.HasPrefix(last, "delete") {
			t.Errorf("%s removed more: %s", command, last)
		}
	}
}

func TestNothingIsTouchedWithoutAContext(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"install", "uninstall", "deploy", "undeploy"} {
		out, calls, err := script(t, command, "no-context")
		if err == nil || !strings.Contains(out, "there is no current context") || len(calls) != 1 {
			t.Errorf("%s without a context: error %v, output %q, kubectl was asked %v", command, err, out, calls)
		}
	}
}
