package image

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	usr := base(t, &tar.Header{Name: "lib", Linkname: "usr/lib", Typeflag: tar.TypeSymlink}, &tar.Header{Name: "usr/lib/", Typeflag: tar.TypeDir})
	for name, tc := range map[string]struct {
		img  Image
		want string
	}{
		"Relative":    {Image{Ref: ref, Files: []File{{Path: "tool", Data: []byte{}}}}, "has to begin at the root"},
		"Root":        {Image{Ref: ref, Files: []File{{Path: "/", Mode: fs.ModeDir}}}, "has to begin at the root"},
		"NoContent":   {Image{Ref: ref, Files: []File{{Path: "/tool"}}}, "one of Source, Data, Link and a Mode with fs.ModeDir is needed, not 0"},
		"TwoContents": {Image{Ref: ref, Files: []File{{Path: "/tool", Link: "a", Data: []byte{}}}}, "is needed, not 2"},
		"NoSource":    {Image{Ref: ref, Files: []File{{Path: "/tool", Source: "/no/such"}}}, "adding /tool: stat /no/such: no such file"},
		"Directory":   {Image{Ref: ref, Files: []File{{Path: "/tool", Source: "/"}}}, "adding /tool: / is not a file"},
		"Twice": {
			Image{Ref: ref, Files: []File{{Path: "/tool", Link: "a"}, {Path: "/tool", Link: "b"}}},
			"two different files have the path /tool",
		},
		"BelowLink": {
			Image{Ref: ref, Files: []File{{Path: "/lib", Link: "usr/lib"}, {Path: "/lib/tool", Data: []byte{}}}},
			"/lib/tool cannot be below /lib, which is no directory",
		},
		"BelowLinkOfBase": {
			Image{Ref: ref, Base: usr, Files: []File{{Path: "/lib/tool", Data: []byte{}}}},
			"/lib/tool cannot be below /lib, which is a link in the base",
		},
		"InsteadOfDirectory": {
			Image{Ref: ref, Base: usr, Files: []File{{Path: "/usr/lib", Data: []byte{}}}},
			"/usr/lib would replace a directory of the base",
		},
		"NoBase":     {Image{Ref: ref, Base: "/no/such"}, "reading the base: open /no/such"},
		"BaseNoTar":  {Image{Ref: ref, Base: on(t, "no archive, but as long as a header of one"+strings.Repeat(".", 600), 0o644)}, "a plain tar archive is needed"},
		"Name":       {Image{Ref: "UPPER:v1", Files: []File{{Path: "/tool", Data: []byte{}}}}, "making image UPPER:v1: "},
		"NameDigest": {Image{Ref: "a@sha256:" + strings.Repeat("0", 64), Files: []File{{Path: "/tool", Data: []byte{}}}}, "making image a@sha256:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			err := tc.img.Write(filepath.Join(dir, "image.tar"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Write() = %v, want an error with %q", err, tc.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("it left %v behind", left)
			}
		})
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "image.tar", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := example(t).Write(filepath.Join(dir, "image.tar")); err == nil {
		t.Error("a directory was replaced")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("it left %v behind", left)
	}
}

func TestWritersOfOneArchiveDoNotMeet(t *testing.T) {
	t.Parallel()
	path, img := filepath.Join(t.TempDir(), "image.tar"), example(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := img.Write(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	read(t, path)
}
