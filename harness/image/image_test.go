package image

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const ref = "example:v1"

// on makes a file on disk.
func on(t *testing.T, content string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // Whatever the umask is.
		t.Fatal(err)
	}
	return path
}

// write writes an image and returns the archive's path.
func write(t *testing.T, img Image) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := img.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads an archive as an engine does, and checks all its digests and sizes.
func read(t *testing.T, path string) v1.Image {
	t.Helper()
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(path, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Fatal(err)
	}
	return img
}

// list has a line for each entry of a layer.
func list(t *testing.T, layer v1.Layer) (lines []string) {
	t.Helper()
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d and is of %v, want 0:0 at the epoch", header.Name, header.Uid, header.Gid, header.ModTime)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %o %s%s", header.Name, header.Mode, header.Linkname, data)))
	}
}

func layers(t *testing.T, img v1.Image) []v1.Layer {
	t.Helper()
	all, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func example(t *testing.T) Image {
	return Image{
		Ref: ref,
		Files: []File{
			{Path: "/usr/bin/tool", Source: on(t, "tool", 0o775)},
			{Path: "/etc/config", Source: on(t, "config", 0o600)},
			{Path: "/etc/alias", Link: "config"},
			{Path: "/tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
			{Path: "/etc/empty", Data: []byte{}, Mode: 0o400},
		},
		Entrypoint: []string{"/usr/bin/tool"}, Cmd: []string{"serve"}, Env: []string{"A=b"},
		User: "65532:65532", WorkDir: "/tmp", Labels: map[string]string{"version": "v1"},
	}
}

func TestArchiveHasWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	img := read(t, write(t, example(t)))
	want := []string{
		"etc/ 755", "etc/alias 777 config", "etc/config 644 config", "etc/empty 400",
		"tmp/ 1777", "usr/ 755", "usr/bin/ 755", "usr/bin/tool 755 tool",
	}
	all := layers(t, img)
	if len(all) != 1 {
		t.Fatalf("have %d layers, want 1", len(all))
	}
	if diff := cmp.Diff(want, list(t, all[0])); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		t.Errorf("the image is for %s/%s, want linux/%s", config.OS, config.Architecture, runtime.GOARCH)
	}
	wantConfig := v1.Config{
		Entrypoint: []string{"/usr/bin/tool"}, Cmd: []string{"serve"}, Env: []string{"A=b"},
		User: "65532:65532", WorkingDir: "/tmp", Labels: map[string]string{"version": "v1"},
	}
	if diff := cmp.Diff(wantConfig, config.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// kind#3795: an archive for several platforms, of which the engine has one, cannot be loaded into a node.
func TestArchiveIsForOnePlatform(t *testing.T) {
	t.Parallel()
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(write(t, example(t))) })
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) != 1 || manifest[0].RepoTags[0] != ref {
		t.Errorf("the archive has %v, want the one image %s", manifest, ref)
	}
}

func TestSameInputMakesTheSameBytes(t *testing.T) {
	t.Parallel()
	for name, compress := range map[string]bool{"Plain": false, "Compressed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := example(t), example(t) // The files lie elsewhere and are younger.
			first.Compress, second.Compress = compress, compress
			second.Files[0], second.Files[3] = second.Files[3], second.Files[0]
			if a, b := sum(t, write(t, first)), sum(t, write(t, second)); a != b {
				t.Errorf("the archives differ: %x and %x", a, b)
			}
			if a, b := id(t, first), id(t, second); a != b {
				t.Errorf("the ids differ: %s and %s", a, b)
			}
		})
	}
}

func TestIDIsThatOfTheArchiveAndChangesWithTheContent(t *testing.T) {
	t.Parallel()
	img := example(t)
	before := id(t, img)
	config, err := read(t, write(t, img)).ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if config.String() != before {
		t.Errorf("ID() = %s, the archive has %s", before, config)
	}
	img.Ref = "another:v2"
	if after := id(t, img); after != before {
		t.Errorf("another name made another id: %s instead of %s", after, before)
	}
	img.Files[0].Source = on(t, "another tool", 0o755)
	if id(t, img) == before {
		t.Error("another content did not make another id")
	}
}

func id(t *testing.T, img Image) string {
	t.Helper()
	got, err := img.ID()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func sum(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(content)
}

// base makes a root file system's archive.
func base(t *testing.T, headers ...*tar.Header) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "base.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(file)
	for _, header := range headers {
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDirectoriesOfTheBaseStayAsTheyAre(t *testing.T) {
	t.Parallel()
	img := read(t, write(t, Image{
		Ref:  ref,
		Base: base(t, &tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, &tar.Header{Name: "./root/", Typeflag: tar.TypeDir, Mode: 0o700}),
		Files: []File{
			{Path: "/root/secret/key", Data: []byte("key"), Mode: 0o600},
		},
	}))
	all := layers(t, img)
	if len(all) != 2 {
		t.Fatalf("have %d layers, want 2", len(all))
	}
	for i, want := range [][]string{{"./ 755", "./root/ 700"}, {"root/secret/ 755", "root/secret/key 600 key"}} {
		if diff := cmp.Diff(want, list(t, all[i])); diff != "" {
			t.Errorf("layer %d (-want +got):\n%s", i, diff)
		}
	}
}
