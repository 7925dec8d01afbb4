package binaries

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	for _, tool := range Envtest() {
		program(t, dir, string(tool))
	}
	single := program(t, other, "my-etcd")
	scheduler := program(t, other, "my-scheduler")
	writeFile(t, filepath.Join(other, "data"), "", 0o644)

	for name, tc := range map[string]struct {
		reason string
		env    map[string]string
		tools  []Tool
		want   Paths
		errs   []string
	}{
		"Nothing": {
			reason: "an empty environment names nothing and is no error",
			tools:  All(), want: Paths{},
		},
		"Assets": {
			reason: "the directory has envtest's tools; that it has no others is by convention",
			env:    map[string]string{"KUBEBUILDER_ASSETS": dir}, tools: All(),
			want: Paths{Etcd: dir + "/etcd", KubeAPIServer: dir + "/kube-apiserver", Kubectl: dir + "/kubectl"},
		},
		"SingleBeatsAssets": {
			reason: "the variable of one tool is more specific than the directory",
			env:    map[string]string{"KUBEBUILDER_ASSETS": dir, "TEST_ASSET_ETCD": single}, tools: []Tool{Etcd, Kubectl},
			want: Paths{Etcd: single, Kubectl: dir + "/kubectl"},
		},
		"LongName": {
			reason: "dashes become underscores",
			env:    map[string]string{"TEST_ASSET_KUBE_SCHEDULER": scheduler}, tools: []Tool{KubeScheduler},
			want: Paths{KubeScheduler: scheduler},
		},
		"SingleMissing": {
			reason: "a variable that names nothing is not passed over in silence",
			env:    map[string]string{"TEST_ASSET_ETCD": other + "/gone", "KUBEBUILDER_ASSETS": dir}, tools: []Tool{Etcd},
			errs: []string{"TEST_ASSET_ETCD=" + other + "/gone is not usable: " + other + "/gone does not exist"},
		},
		"SingleNotExecutable": {
			reason: "a file without the executable bit would only fail at the start",
			env:    map[string]string{"TEST_ASSET_KWOK": other + "/data"}, tools: []Tool{Kwok},
			errs: []string{"TEST_ASSET_KWOK=" + other + "/data is not usable: " + other + "/data is not executable"},
		},
		"SingleDirectory": {
			reason: "a directory is executable but no program",
			env:    map[string]string{"TEST_ASSET_KWOKCTL": other}, tools: []Tool{Kwokctl},
			errs: []string{"TEST_ASSET_KWOKCTL=" + other + " is not usable: " + other + " is not a file"},
		},
		"AssetsIncomplete": {
			reason: "one line for each tool that the directory lacks",
			env:    map[string]string{"KUBEBUILDER_ASSETS": other}, tools: []Tool{Etcd, Kubectl},
			errs: []string{
				"KUBEBUILDER_ASSETS=" + other + " has no usable etcd: " + other + "/etcd does not exist",
				"KUBEBUILDER_ASSETS=" + other + " has no usable kubectl: " + other + "/kubectl does not exist",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := (&fixture{Env: tc.env}).finder(newOutput())
			got, err := f.fromEnvironment(tc.tools)
			if len(tc.errs) > 0 {
				if err == nil {
					t.Fatalf("%s: no error", tc.reason)
				}
				if diff := cmp.Diff(tc.errs, strings.Split(err.Error(), "\n")); diff != "" {
					t.Errorf("%s: errors (-want +got):\n%s", tc.reason, diff)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: paths (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// agent-substrate#792: a suite whose programs are all there asked the network for the latest version, and failed offline.
func TestPinnedAssetsThatArePresentNeedNoNetwork(t *testing.T) {
	t.Parallel()
	server := newMirror(t)
	fix := newFixture(t)
	fix.Mirror = server.URL
	fix.GoTool = "no-such-go"
	assets := t.TempDir()
	fix.Env["KUBEBUILDER_ASSETS"] = assets
	for _, tool := range Envtest() {
		program(t, assets, string(tool))
	}
	out := newOutput()
	f := fix.finder(out)
	for _, tool := range All()[len(Envtest()):] {
		program(t, filepath.Dir(f.cached(tool)), string(tool))
	}

	paths, err := f.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != len(All()) {
		t.Errorf("have %d paths, want %d: %v", len(paths), len(All()), paths)
	}
	if requests := server.requests(); len(requests) != 0 {
		t.Errorf("asked the network for %v", requests)
	}
	if out.String() != "" {
		t.Errorf("nothing had to be done, but it said:\n%s", out)
	}
}

// A node image has pinned programs, whatever a developer's shell names for envtest.
func TestPinnedProgramsIgnoreTheEnvironment(t *testing.T) {
	t.Parallel()
	fix := &fixture{Env: map[string]string{"TEST_ASSET_ETCD": program(t, t.TempDir(), "etcd"), "KUBEBUILDER_ASSETS": "/nowhere"}}
	f := fix.finder(newOutput())
	f.pinned = true
	if got, err := f.fromEnvironment(All()); err != nil || len(got) != 0 {
		t.Errorf("want nothing from the environment, got %v, %v", got, err)
	}
}
