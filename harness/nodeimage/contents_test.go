package nodeimage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestRefIsStable(t *testing.T) {
	t.Parallel()
	if ref := Ref(); !regexp.MustCompile(`^harness-kind-node:v1\.\d+\.\d+-[0-9a-f]{12}$`).MatchString(ref) || ref != Ref() {
		t.Errorf("a name that docker takes and that stays is wanted, got %s and %s", ref, Ref())
	}
}

// The files must be of the kind that makes the clusters.
func TestKindIsThatOfTheModule(t *testing.T) {
	t.Parallel()
	gomod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	pin, err := source.ReadFile("source/kind.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := source.ReadFile("source/kind.sum")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(kindModule, "@", " ", 1)
	for name, text := range map[string][]byte{"go.mod": gomod, "source/kind.mod": pin, "source/kind.sum": sum} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s has no %s", name, want)
		}
	}
}

func TestManifests(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"default-cni.yaml", "default-storage.yaml"} {
		for document := range strings.SplitSeq(string(embedded(name)), "\n---\n") {
			var object struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal([]byte(document), &object); err != nil || object.Kind == "" || object.APIVersion == "" {
				t.Errorf("%s has something that is no object (%v):\n%s", name, err, document)
			}
		}
	}
	if want := "image: " + kubeRouterImage + "\n"; !strings.Contains(string(embedded("default-cni.yaml")), want) {
		t.Errorf("default-cni.yaml does not have %q", want)
	}
}

func TestNetworkTemplate(t *testing.T) {
	t.Parallel()
	parsed, err := template.New("").Parse(string(embedded("cni.template")))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	// The fields are those that containerd has.
	err = parsed.Execute(&out, struct{ PodCIDRRanges, Routes []string }{[]string{"10.244.1.0/24", "fd00::/64"}, []string{"0.0.0.0/0", "::/0"}})
	if err != nil {
		t.Fatal(err)
	}
	var network struct {
		Plugins []struct {
			IPMasq bool
			IPAM   struct {
				Ranges [][]struct{ Subnet string }
				Routes []struct{ Dst string }
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &network); err != nil {
		t.Fatalf("%v in:\n%s", err, &out)
	}
	ptp := network.Plugins[0]
	if len(ptp.IPAM.Ranges) != 2 || ptp.IPAM.Ranges[1][0].Subnet != "fd00::/64" || len(ptp.IPAM.Routes) != 2 || ptp.IPAM.Routes[0].Dst != "0.0.0.0/0" {
		t.Errorf("want a range and a route for each family, got:\n%s", &out)
	}
	if ptp.IPMasq {
		t.Error("the plug-in masquerades traffic between pods, which hides them from policies")
	}
}

// settings is a directory like kind's, with some settings of containerd.
func settings(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "etc", "containerd", "config.toml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o444)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestContainerdSettings(t *testing.T) {
	t.Parallel()
	kind := settings(t, "version = 2\n  sandbox_image = \"example/pause:1\"\n  restrict_oom_score_adj = false\n")
	got, err := containerdSettings(kind)
	if err != nil {
		t.Fatal(err)
	}
	want := "version = 2\n  sandbox_image = \"example/pause:1\"\n  restrict_oom_score_adj = true\n\n" +
		"[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  conf_template = \"/etc/containerd/cni.template\"\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if pause, err := pauseImage(kind); err != nil || pause != "example/pause:1" {
		t.Errorf("pauseImage() = %q, %v", pause, err)
	}
	other := settings(t, "version = 3\n")
	if _, err := containerdSettings(other); err == nil || !strings.Contains(err.Error(), "restrict_oom_score_adj") {
		t.Errorf("settings that cannot be changed must be refused, got %v", err)
	}
	if _, err := pauseImage(other); err == nil {
		t.Error("settings without a sandbox image must be refused")
	}
}

func TestContainersHaveKindsHookAndNoLimits(t *testing.T) {
	t.Parallel()
	got, err := withHook([]byte(`{"process": {"cwd": "/", "rlimits": [{"type": "RLIMIT_NOFILE"}]}, "hooks": {"createContainer": [{"path": "/first"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var spec, want any
	if err := json.Unmarshal(got, &spec); err != nil {
		t.Fatal(err)
	}
	err = json.Unmarshal([]byte(`{"process": {"cwd": "/"}, "hooks": {"createContainer": [{"path": "/first"}, {"path": "/kind/bin/mount-product-files.sh"}]}}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("container's default (-want +got):\n%s", diff)
	}
	if _, err := withHook([]byte(`{}`)); err == nil {
		t.Error("something without a process is no container")
	}
}

func TestKindFilesHaveKindsModes(t *testing.T) {
	t.Parallel()
	dir := settings(t, "restrict_oom_score_adj = false\n")
	for _, name := range []string{"usr/local/bin/entrypoint", "kind/bin/hook.sh", "kind/README"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("as it is"), 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := kindFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range files {
		got[file.Path] = file.Mode.String()
		if changed := bytes.Contains(file.Data, []byte("= true")); changed != (file.Path == "/etc/containerd/config.toml") {
			t.Errorf("%s: changed is %v", file.Path, changed)
		}
	}
	want := map[string]string{
		"/usr/local/bin/entrypoint": "-rwxr-xr-x", "/kind/bin/hook.sh": "-rwxr-xr-x",
		"/kind/README": "-rw-r--r--", "/etc/containerd/config.toml": "-rw-r--r--",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

func TestImportThatMissesSomethingIsNoticed(t *testing.T) {
	t.Parallel()
	const table = `REF TYPE DIGEST STATUS SIZE UNPACKED
example/etcd:1 application/x sha256:1 complete (2/2) 20.0 MiB/20.0 MiB false
host/short/name:1 application/x sha256:2 complete (2/2) 20.0 MiB/20.0 MiB false
example/broken:1 application/x sha256:3 incomplete (1/2) 20.0 MiB/40.0 MiB false
`
	for ref, whole := range map[string]bool{"example/etcd:1": true, "short/name:1": true, "example/broken:1": false, "example/gone:1": false} {
		if err := missingImages(table, map[string]string{ref: ""}); (err == nil) != whole {
			t.Errorf("%s: whole is %v, got %v", ref, whole, err)
		}
	}
}

// The script must not add a rule twice: the kubelet may start again.
func TestServicesAreRefusedOnceEach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rules":        "",
		"ip":           fmt.Sprintf("#!/bin/sh\ncd %q\ncase $3 in show) cat rules ;; add) shift 5; echo \"$* \" >>rules ;; esac\n", dir),
		"kubeadm.conf": "networking:\n  podSubnet: \"10.244.0.0/16\"\n  serviceSubnet: \"10.96.0.0/16,fd00:10:96::/112\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A function, since a file that was just written can be busy while other tests start processes.
	text := "ip() { sh " + dir + "/ip \"$@\"; }\n" + string(embedded("refuse-services.sh"))
	for range 2 {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", text, "script", dir+"/kubeadm.conf")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	rules, err := os.ReadFile(filepath.Join(dir, "rules"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "iif lo to 10.96.0.0/16 lookup main \nto 10.96.0.0/16 unreachable \n" +
		"iif lo to fd00:10:96::/112 lookup main \nto fd00:10:96::/112 unreachable \n"
	if diff := cmp.Diff(want, string(rules)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
