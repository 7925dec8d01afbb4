package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example-inc/memcached-operator/harness/image"
)

const ref = "memcached:test"

type bench struct {
	workshop
	said []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{workshop: workshop{out: t.TempDir(), answerLimit: 30 * time.Second}}
	b.say = func(format string, args ...any) { b.said = append(b.said, fmt.Sprintf(format, args...)) }
	return b
}

func (b *bench) product() product {
	return product{name: memcachedName, ref: ref, path: b.path(memcachedName)}
}

// docker puts a stand-in for the docker command into PATH.
func docker(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HARNESS_OFFLINE", "")
}

func some(content string) image.Image {
	return image.Image{Ref: ref, Files: []image.File{{Path: "/file", Data: []byte(content)}}}
}

func TestArchiveIsWrittenOnlyWhenItChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, err := b.keep("name", "", some("one"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.ref, "name:") || len(first.ref) != len("name:")+tagLength {
		t.Errorf("the reference is %s, want a tag that is a digest's beginning", first.ref)
	}
	if again, err := b.keep("name", "", some("one")); err != nil || again != first || len(b.said) != 1 {
		t.Errorf("the second time: %v, %v, %q", again, err, b.said)
	}
	changed, err := b.keep("name", "", some("two"))
	if err != nil || changed.ref == first.ref || len(b.said) != 2 {
		t.Errorf("with another content: %v, %v, %q", changed, err, b.said)
	}
	named, err := b.keep("name", "mine:v1", some("two"))
	if err != nil || named.ref != "mine:v1" || len(b.said) != 3 {
		t.Errorf("with a reference: %v, %v, %q", named, err, b.said)
	}
}

func TestImagesOfProgramsAreLockedDown(t *testing.T) {
	t.Parallel()
	for name, img := range map[string]image.Image{"Operator": operatorImage("program", "v1"), "Probe": probeImage("program", "v2")} {
		if img.User != "65532:65532" {
			t.Errorf("%s: the user is %q, want the one of the Deployment", name, img.User)
		}
		if len(img.Files) != 1 || img.Files[0].Mode != 0o555 || img.Files[0].Path != img.Entrypoint[0] {
			t.Errorf("%s: have %+v, want the program alone, which nobody may change", name, img.Files)
		}
	}
	if got := operatorImage("program", "v1").Labels[labelVersion]; got != "v1" {
		t.Errorf("the version's label is %q", got)
	}
}

func TestOfficialImageIsPulledOnce(t *testing.T) {
	b := newBench(t)
	saved := filepath.Join(t.TempDir(), "saved.tar")
	if err := some("official").Write(saved); err != nil {
		t.Fatal(err)
	}
	docker(t, `case $1 in
pull) [ "$2" = `+ref+` ] && echo "test: Pulling from library/memcached" ;;
save) cp `+saved+` "$3" ;;
esac`)
	if err := b.pull(t.Context(), b.product()); err != nil {
		t.Fatal(err)
	}
	if official, there := kind(b.product()); !official || !there {
		t.Errorf("official %t, there %t, want both", official, there)
	}
	if left, _ := os.ReadDir(b.out); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

func TestStandInIsToldFromTheOfficialImage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, there := kind(b.product()); there {
		t.Error("an archive is there before it was made")
	}
	files := []image.File{{Path: "/usr/bin/memcached", Data: []byte("memcached")}}
	if _, err := b.keep(memcachedName, ref, standInImage(files)); err != nil {
		t.Fatal(err)
	}
	if official, there := kind(b.product()); official || !there {
		t.Errorf("official %t, there %t, want it to be there and not official", official, there)
	}
}

func TestPullThatFailsSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		want   string
	}{
		"Refused": {"echo 'no such host' >&2; exit 1", "docker pull: exit status 1: no such host"},
		"Silence": {"exec sleep 60", "no answer within 200ms"},
		"NoSave":  {`[ $1 = pull ] || { echo "disk full" >&2; exit 1; }`, "docker save: exit status 1: disk full"},
		"NoImage": {`[ $1 = pull ] || echo nothing >"$3"`, "which should have " + ref},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if name == "Silence" {
				b.answerLimit = 200 * time.Millisecond
			}
			docker(t, tc.script)
			if err := b.pull(t.Context(), b.product()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("pull() = %v, want %q", err, tc.want)
			}
			if left, _ := os.ReadDir(b.out); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

func TestOfflineAsksNobody(t *testing.T) {
	b := newBench(t)
	docker(t, "touch "+filepath.Join(b.out, "asked"))
	t.Setenv("HARNESS_OFFLINE", "1")
	if err := b.pull(t.Context(), b.product()); err == nil || !strings.Contains(err.Error(), "HARNESS_OFFLINE is set") {
		t.Errorf("pull() = %v", err)
	}
	if left, _ := os.ReadDir(b.out); len(left) > 0 {
		t.Errorf("docker was asked: %v", left)
	}
}

func TestDefaultImageIsTheManagers(t *testing.T) {
	t.Parallel()
	got, err := defaultImage("../../" + managerFlags)
	if err != nil || !strings.HasPrefix(got, "memcached:") {
		t.Errorf("defaultImage() = %q, %v", got, err)
	}
	if got, err := defaultImage("main.go"); err == nil || !strings.Contains(err.Error(), "has no constant "+imageDefault) {
		t.Errorf("defaultImage() of another file = %q, %v", got, err)
	}
}
