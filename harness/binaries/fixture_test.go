package binaries

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// deadEnd is an address where nobody listens: what a machine without a network sees, only faster.
const deadEnd = "http://127.0.0.1:1"

// fixture is what a finder is made from. It is JSON so that another process can make the same one.
type fixture struct {
	Source, Cache, GoTool string
	Mirror                string
	Env                   map[string]string
	// Module replaces the tiny module, if set.
	Module string
}

// TestMain lets the test binary stand in for another process that uses the package.
func TestMain(m *testing.M) {
	if spec := os.Getenv("BINARIES_TEST_FIXTURE"); spec != "" {
		os.Exit(runFixture(spec))
	}
	os.Exit(m.Run())
}

func runFixture(spec string) int {
	var fix fixture
	if err := json.Unmarshal([]byte(spec), &fix); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	paths, err := fix.finder(os.Stderr).ensure(context.Background(), Etcd) //nolint:forbidigo // A process of its own, not a test.
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(paths[Etcd])
	return 0
}

// newFixture lays out a module with all seven programs that the real go command builds in no time. The programs of a
// test are its own, so that none is in the build cache yet: each has two packages to compile, and all share one.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	fix := &fixture{Source: t.TempDir(), Cache: filepath.Join(t.TempDir(), "cache"), GoTool: "go", Mirror: deadEnd, Env: map[string]string{}}
	fix.write(t, "go.mod", "module example.com/tiny\n\ngo 1.26.0\n")
	fix.write(t, "shared/shared.go", fmt.Sprintf("package shared\n\nconst Name = %q\n", t.Name()+time.Now().String()))
	for _, tool := range All() {
		own := strings.ReplaceAll(string(tool), "-", "")
		fix.write(t, "own/"+own+"/own.go", fmt.Sprintf(
			"package %s\n\nimport \"example.com/tiny/shared\"\n\nconst Name = shared.Name + %q\n", own, tool))
		fix.write(t, "cmd/"+string(tool)+"/main.go", fmt.Sprintf(
			"package main\n\nimport \"example.com/tiny/own/%s\"\n\nvar Stamp string\n\nfunc main() { println(%s.Name, Stamp) }\n", own, own))
	}
	return fix
}

func (fix *fixture) write(t *testing.T, name, content string) {
	t.Helper()
	writeFile(t, filepath.Join(fix.Source, name), content, 0o644)
}

func writeFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// program puts an executable file at dir/name and returns its path.
func program(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	writeFile(t, path, "#!/bin/sh\necho "+name+"\n", 0o755)
	return path
}

// finder makes a finder whose etcd comes from one module and whose other programs come from a second one.
func (fix *fixture) finder(out interface{ Write([]byte) (int, error) }) *finder {
	gomod := fix.Module
	if gomod == "" {
		gomod = "module example.com/build\n\ngo 1.26.0\n\nrequire example.com/tiny v1.0.0\n\nreplace example.com/tiny => " + fix.Source + "\n"
	}
	first := module{name: "first", version: "v1.0.0", gomod: []byte(gomod), ldflags: "-X main.Stamp=stamped", packages: map[Tool]string{}}
	second := first
	second.name, second.packages = "second", map[Tool]string{}
	for _, tool := range All() {
		packages := second.packages
		if tool == Etcd {
			packages = first.packages
		}
		packages[tool] = "example.com/tiny/cmd/" + string(tool)
	}
	env := func(name string) string { return fix.Env[name] }
	return &finder{
		env: env, environ: os.Environ(), out: out, cache: cache{root: fix.Cache}, modules: []module{first, second}, goTool: fix.GoTool,
		mirrors: mirrorsFrom(func(name string) string {
			if name == "HARNESS_ENVTEST_INDEX_URL" || name == "HARNESS_KWOK_RELEASE_URL" {
				return fix.Mirror + "/" + name
			}
			return fix.Mirror
		}),
		probeTimeout: 2 * time.Second, stallTimeout: 2 * time.Second, freeSpace: freeSpace,
	}
}

// JSON hands the fixture to another process.
func (fix *fixture) JSON(t *testing.T) string {
	t.Helper()
	spec, err := json.Marshal(fix)
	if err != nil {
		t.Fatal(err)
	}
	return string(spec)
}

// output collects what a finder or another process says, and can be waited on.
type output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// waitFor returns once the output has text.
func (o *output) waitFor(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.changed:
		case <-time.After(30 * time.Second):
			t.Fatalf("waited for %q, have:\n%s", text, o)
		}
	}
}

// leftovers are files in the cache that nobody asked for.
func leftovers(t *testing.T, root string) (left []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) != ".lock" || strings.Contains(filepath.Base(path), "work-") {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}
