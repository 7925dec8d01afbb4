package hack

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fence = regexp.MustCompile("(?s)```(\\w*)\n(.*?)```")
	// makeCommand is a make command, in a fenced block or inline.
	makeCommand = regexp.MustCompile("(?m)(?:^|`)make ([a-z0-9-]+)")
	link        = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
)

// documents are the Markdown files of the project by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"../docs/*.md", "../docs/*/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, more...)
	}
	found := map[string]string{}
	for _, path := range paths {
		found[path] = read(t, path)
	}
	if len(found) < 3 {
		t.Fatalf("found only %d documents", len(found))
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path) //nolint:gosec // A file of the project.
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestDocumentedMakeTargetsExist(t *testing.T) {
	t.Parallel()
	checked := 0
	for path, text := range documents(t) {
		for _, match := range makeCommand.FindAllStringSubmatch(text, -1) {
			checked++
			cmd := exec.CommandContext(t.Context(), "make", "-n", "-C", "..", match[1]) //nolint:gosec // It runs nothing.
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s names make %s: %v\n%s", path, match[1], err, out)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d make commands found", checked)
	}
}

func TestHelpListsEveryTarget(t *testing.T) {
	t.Parallel()
	help, err := exec.CommandContext(t.Context(), "make", "-C", "..", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)^\.PHONY: ([a-z0-9-]+)$`).FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		if !strings.Contains(string(help), "  "+match[1]+" ") {
			t.Errorf("make help does not list %s", match[1])
		}
	}
}

// The samples are validated against the CRDs and applied by the demo: what equals them works.
func TestReadmeShowsTheSamples(t *testing.T) {
	t.Parallel()
	var shown []string
	for _, block := range fence.FindAllStringSubmatch(read(t, "../README.md"), -1) {
		if block[1] == "yaml" {
			shown = append(shown, block[2])
		}
	}
	want := []string{
		read(t, "../config/samples/cache_v1_memcached.yaml"),
		read(t, "../config/samples/app_v1alpha1_myapp.yaml"),
	}
	if !slices.Equal(shown, want) {
		t.Errorf("the YAML of the README is\n%s\nwant the samples\n%s", strings.Join(shown, "---\n"), strings.Join(want, "---\n"))
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	checked := 0
	for path, text := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), match[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, match[1])
			}
		}
	}
	if checked == 0 {
		t.Error("no link found")
	}
}
