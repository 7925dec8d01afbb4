package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/example-inc/memcached-operator/harness/image"
)

const (
	// nonRoot is the user that the manager's Deployment names, too.
	nonRoot = "65532:65532"
	// labelVersion is the label that tools read.
	labelVersion = "org.opencontainers.image.version"

	operatorName = "memcached-operator"
	probeName    = "probe"
	// envVariant is what the probe says it is.
	envVariant = "PROBE_VARIANT"
)

// operator makes the operator's image: a static program, and nothing else that could be run or changed.
func (w workshop) operator(ctx context.Context) ([]product, error) {
	program, err := w.compile(ctx, "manager", "./cmd/manager", "-X main.version="+w.version)
	if err != nil {
		return nil, err
	}
	p, err := w.keep(operatorName, w.operatorRef, operatorImage(program, w.version))
	return []product{p}, err
}

func operatorImage(program, version string) image.Image {
	return image.Image{
		Files:      []image.File{{Path: "/manager", Source: program, Mode: 0o555}},
		Entrypoint: []string{"/manager"},
		User:       nonRoot,
		Labels:     map[string]string{labelVersion: version, "org.opencontainers.image.title": operatorName},
	}
}

// probe makes the images of the tests' program. The second one differs in what it says of itself, so that a change of the
// image can be seen from outside.
func (w workshop) probe(ctx context.Context) ([]product, error) {
	program, err := w.compile(ctx, probeName, "./test/e2e/probe", "")
	if err != nil {
		return nil, err
	}
	var made []product
	for _, variant := range []string{"v1", "v2"} {
		name := probeName + "-" + variant
		p, err := w.keep(name, "", probeImage(program, variant))
		if err != nil {
			return nil, err
		}
		made = append(made, p)
	}
	return made, nil
}

func probeImage(program, variant string) image.Image {
	return image.Image{
		Files:      []image.File{{Path: "/probe", Source: program, Mode: 0o555}},
		Entrypoint: []string{"/probe"},
		Cmd:        []string{"serve"},
		Env:        []string{envVariant + "=" + variant},
		User:       nonRoot,
		Labels:     map[string]string{labelVersion: variant},
	}
}

// compile compiles a static program for Linux; the go command knows whether there is anything to do.
func (w workshop) compile(ctx context.Context, name, pkg, ldflags string) (string, error) {
	program := filepath.Join(w.out, "bin", name)
	//nolint:gosec // The packages are this project's.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", strings.TrimSpace("-s -w "+ldflags), "-o", program, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling %s: %w\n%s", pkg, err, strings.TrimSpace(string(out)))
	}
	return program, nil
}
