package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// fakeNode answers the commands of a load; which image it has afterwards is up to the test.
type fakeNode struct {
	nodes.Node // Nothing else is called.

	id       string // What crictl tells of every image, an error when empty.
	imported *bytes.Buffer
}

func (n fakeNode) String() string { return "node1" }

func (n fakeNode) Command(command string, args ...string) kindexec.Cmd {
	return &fakeCommand{node: n, line: strings.Join(append([]string{command}, args...), " ")}
}

type fakeCommand struct {
	kindexec.Cmd

	node fakeNode
	line string
	in   io.Reader
	out  io.Writer
}

func (c *fakeCommand) SetStdin(in io.Reader) kindexec.Cmd   { c.in = in; return c }
func (c *fakeCommand) SetStdout(out io.Writer) kindexec.Cmd { c.out = out; return c }
func (c *fakeCommand) SetStderr(io.Writer) kindexec.Cmd     { return c }

func (c *fakeCommand) Run() (err error) {
	switch {
	case strings.HasPrefix(c.line, "containerd config"):
		_, err = io.WriteString(c.out, "version = 3\n[plugins.\"io.containerd.cri.v1.images\"]\nsnapshotter = \"overlayfs\"\n")
	case strings.HasPrefix(c.line, "ctr ") && strings.Contains(c.line, " images import "):
		_, err = io.Copy(c.node.imported, c.in)
	case strings.HasPrefix(c.line, "crictl inspecti ") && c.node.id != "":
		_, err = fmt.Fprintf(c.out, `{"status": {"id": %q}}`, c.node.id)
	default:
		err = errors.New("no such image")
	}
	return err
}

// writeArchive writes an archive with one image and returns its path and the image's id.
func writeArchive(t *testing.T, ref string) (path, id string) {
	t.Helper()
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(ref, name.WeakValidation)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(path, tag, image); err != nil {
		t.Fatal(err)
	}
	return path, configOf(t, image)
}

func configOf(t *testing.T, image v1.Image) string {
	t.Helper()
	config, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return config.String()
}

// kind#3795: an import says that it succeeded, and the image is not there.
func TestKind3795LoadedImagesAreLookedFor(t *testing.T) {
	t.Parallel()
	path, id := writeArchive(t, "example/operator:test")
	for name, tc := range map[string]struct{ id, want string }{
		"There":   {id: id},
		"Missing": {want: "the node does not have example/operator:test afterwards"},
		"Older":   {id: "sha256:0123", want: "the node has example/operator:test with the id sha256:0123, the archive with " + id},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archives, err := readArchives([]string{path})
			if err != nil {
				t.Fatal(err)
			}
			node := fakeNode{id: tc.id, imported: &bytes.Buffer{}}
			err = loadImages(t.Context(), []nodes.Node{node}, archives)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("loadImages() = %v, want %q", err, tc.want)
			}
			if want, err := os.ReadFile(path); err != nil || !bytes.Equal(node.imported.Bytes(), want) {
				t.Errorf("the node got %d bytes, want the archive's %d, %v", node.imported.Len(), len(want), err)
			}
		})
	}
}

func TestImageIDOfOtherArchives(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"sha256:0123", "0123.json", "blobs/sha256/0123"} {
		if id := imageID(config); id != "sha256:0123" {
			t.Errorf("imageID(%s) = %s", config, id)
		}
	}
}

func TestNoArchive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readArchives([]string{path}); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "docker save") {
		t.Errorf("readArchives() = %v, want the path and what is wanted", err)
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path, id := writeArchive(t, "example/operator:test")
	archives, err := readArchives([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if err := loadImages(ctx, []nodes.Node{fakeNode{id: id, imported: &bytes.Buffer{}}}, archives); !errors.Is(err, context.Canceled) {
		t.Errorf("loadImages() = %v, want it to be cancelled", err)
	}
}
