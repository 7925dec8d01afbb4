package binaries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// assetsVariable names the directory envtest looks in.
const assetsVariable = "KUBEBUILDER_ASSETS"

// variable names the environment variable that holds a tool's path, as controller-runtime spells it.
func (t Tool) variable() string {
	return "TEST_ASSET_" + strings.ToUpper(strings.ReplaceAll(string(t), "-", "_"))
}

// file is the tool's file name on this system.
func (t Tool) file() string {
	if runtime.GOOS == "windows" {
		return string(t) + ".exe"
	}
	return string(t)
}

// fromEnvironment returns the tools that the environment names. A variable that names nothing usable is an error:
// falling through would test against something else than what the user asked for.
func (f *finder) fromEnvironment(tools []Tool) (Paths, error) {
	paths, errs := Paths{}, []error(nil)
	for _, tool := range tools {
		path, err := f.named(tool)
		if err != nil {
			errs = append(errs, err)
		} else if path != "" {
			paths[tool] = path
		}
	}
	return paths, errors.Join(errs...)
}

// named returns the path the environment has for a tool, or nothing when it has none.
func (f *finder) named(tool Tool) (string, error) {
	if f.pinned {
		return "", nil
	}
	if path := f.env(tool.variable()); path != "" {
		if err := isExecutable(path); err != nil {
			return "", fmt.Errorf("%s=%s is not usable: %w", tool.variable(), path, err)
		}
		return filepath.Abs(path)
	}
	dir := f.env(assetsVariable)
	if dir == "" {
		return "", nil
	}
	path := filepath.Join(dir, tool.file())
	err := isExecutable(path)
	if err == nil {
		return filepath.Abs(path)
	}
	if slices.Contains(Envtest(), tool) {
		return "", fmt.Errorf("%s=%s has no usable %s: %w", assetsVariable, dir, tool, err)
	}
	return "", nil // By convention that directory has envtest's tools only.
}

// isExecutable says why the file at path cannot be run.
func isExecutable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s does not exist", path)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", path)
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", path)
	}
	return nil
}
