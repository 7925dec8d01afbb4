package hack

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What cannot be meant is refused in one line, before anything is built, removed or started.
func TestE2ERefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  []string
		want string
	}{
		"UnnamedCluster":     {env: []string{"LEVEL=existing", "E2E_CONTEXT="}, want: "e2e: LEVEL=existing changes a cluster that is yours: name its context in E2E_CONTEXT\n"},
		"SeveralKubeconfigs": {env: []string{"LEVEL=existing", "E2E_CONTEXT=mine", "KUBECONFIG=a:b"}, want: "e2e: KUBECONFIG names several files: name the one that has the context mine\n"},
		"UnknownLevel":       {env: []string{"LEVEL=imagined"}, want: "e2e: there is no LEVEL=imagined: want kind, kwok or existing\n"},
		"UnknownKeep":        {env: []string{"LEVEL=kind", "KEEP=perhaps"}, want: "e2e: KEEP is perhaps: want 1, on-failure or nothing\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "./e2e.sh")
			// Without a go command, so that nothing but a refusal is quick.
			cmd.Env = append(os.Environ(), append([]string{"PATH=/usr/bin:/bin", "JUNIT=/nowhere", "GOTESTSUM=false"}, tc.env...)...)
			out, err := cmd.CombinedOutput()
			if err == nil || string(out) != tc.want {
				t.Errorf("it said %q, %v, want %q", out, err, tc.want)
			}
		})
	}
}

// The levels' own defaults are nobody's business here: kind is what make e2e means.
func TestE2EDefaultsToKind(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "make", "-n", "-C", "..", "e2e").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "LEVEL=kind ") {
		t.Errorf("make -n e2e: %v\n%s", err, out)
	}
}
