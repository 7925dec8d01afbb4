package nodeimage

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"

	"github.com/example-inc/memcached-operator/harness/image"
)

// source pins the module that has the files which make a container a node of kind's.
//
//go:embed source
var source embed.FS

// kindModule is the module with its version.
const kindModule = "sigs.k8s.io/kind@v0.33.0"

// fetchKind returns the directory of the files that kind's own nodes have, from the module cache, where the go command has
// put them after checking the module. It works in dir.
func fetchKind(ctx context.Context, dir string) (string, error) {
	for _, name := range []string{"mod", "sum"} {
		data, err := source.ReadFile("source/kind." + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "go."+name), data, 0o644)
		}
		if err != nil {
			return "", fmt.Errorf("writing kind's pins: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", kindModule)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "PWD="+dir)
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &module); err == nil {
		err = jsonErr
	}
	if module.Error != "" {
		err = errors.New(module.Error)
	}
	if err != nil {
		return "", fmt.Errorf("downloading %s (set GOPROXY to a module proxy that this machine reaches): %w", kindModule, err)
	}
	return filepath.Join(module.Dir, "images", "base", "files"), nil
}

// kindFiles are the files of a directory, with the modes that kind gives them, and with containerd's settings changed.
func kindFiles(dir string) ([]image.File, error) {
	var found []image.File
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		f := image.File{Path: "/" + filepath.ToSlash(name), Source: file, Mode: 0o644}
		if program := path.Dir(f.Path); program == "/usr/local/bin" || program == "/kind/bin" {
			f.Mode = 0o755
		}
		if f.Path == "/etc/containerd/config.toml" {
			f.Source = ""
			if f.Data, err = containerdSettings(dir); err != nil {
				return err
			}
		}
		found = append(found, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading kind's files in %s: %w", dir, err)
	}
	return found, nil
}

// containerdSettings are those of kind's files in dir, changed in two places.
func containerdSettings(dir string) ([]byte, error) {
	kinds, err := readSettings(dir)
	if err != nil {
		return nil, err
	}
	// A host may lack the capability to protect a container from the kernel's memory killer.
	const strict, clipped = "restrict_oom_score_adj = false", "restrict_oom_score_adj = true"
	if !bytes.Contains(kinds, []byte(strict)) {
		return nil, fmt.Errorf("containerd's settings have no %q", strict)
	}
	changed := bytes.Replace(kinds, []byte(strict), []byte(clipped), 1)
	// containerd knows its node's addresses as soon as the kubelet does, so that no daemon has to write this.
	return append(changed, "\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  conf_template = \"/etc/containerd/cni.template\"\n"...), nil
}

var sandboxImage = regexp.MustCompile(`(?m)^\s*sandbox_image = "([^"]+)"`)

// pauseImage is the name that kind's settings give to the image which holds a pod's namespaces.
func pauseImage(dir string) (string, error) {
	settings, err := readSettings(dir)
	if err != nil {
		return "", err
	}
	match := sandboxImage.FindSubmatch(settings)
	if match == nil {
		return "", errors.New("containerd's settings name no sandbox image")
	}
	return string(match[1]), nil
}

func readSettings(dir string) ([]byte, error) {
	settings, err := os.ReadFile(filepath.Join(dir, "etc", "containerd", "config.toml"))
	if err != nil {
		return nil, fmt.Errorf("reading containerd's settings: %w", err)
	}
	return settings, nil
}
