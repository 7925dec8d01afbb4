package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// What compiling a package costs on one core and linking a program costs, measured with Go 1.26 on all seven tools.
	packageTime  = 400 * time.Millisecond
	linkTime     = 8 * time.Second
	packageSpace = 1700 << 10 // Half in the build cache for good, half beside the programs while one is built.
	// resultSpace is what all the finished programs need, with room for a half-made one.
	resultSpace = 1 << 30
)

// builder makes programs from source with the go command.
type builder struct {
	*finder
	work  *workspace
	meter *meter
	need  uint64
}

// build makes the missing tools one after another, so that those of one module share its packages.
func (f *finder) build(ctx context.Context, work *workspace, missing []Tool, why reasons) error {
	if _, err := exec.LookPath(f.goTool); err != nil {
		return fmt.Errorf("building %s from source needs the go command: install Go 1.26 or later and put it in PATH, or name the programs in %s: %w",
			join(missing), assetsVariable, err)
	}
	b := &builder{finder: f, work: work}
	defer func() {
		if b.meter != nil {
			b.meter.stop()
		}
	}()
	for _, tool := range missing {
		err := f.exclusively(ctx, f.cached(tool), func() error {
			if b.meter == nil { // Only now: until here, another process may have been at it.
				if err := b.begin(ctx, missing, why); err != nil {
					return err
				}
			}
			return b.make(ctx, tool)
		})
		if err != nil {
			return fmt.Errorf("building %s: %w", tool, err)
		}
	}
	if b.meter != nil {
		f.say("built in %s; kept in %s", time.Since(b.meter.started).Round(time.Second), f.cache.root)
	}
	return nil
}

// begin says what is going to be done and how long it takes, and looks first whether the disk has room for it.
func (b *builder) begin(ctx context.Context, missing []Tool, why reasons) error {
	missing = b.addCached(Paths{}, missing)
	b.say("building %s from source, once for this user: not in the cache, and not downloaded (%s)", join(missing), why)
	if err := b.writeModules(); err != nil {
		return explainWrite(err, b.cache.root, resultSpace)
	}
	packages, err := b.stalePackages(ctx, missing)
	if err != nil {
		return err
	}
	if err := b.checkSpace(ctx, packages); err != nil {
		return err
	}
	links := time.Duration(len(missing)) * linkTime
	expected := time.Duration(packages)*packageTime/time.Duration(runtime.GOMAXPROCS(0)) + links
	b.say("%d packages to compile and %d programs to link: about %s on %d cores", packages, len(missing), roughly(expected), runtime.GOMAXPROCS(0))
	b.meter = newMeter(b.out, "building", packagesUnit, int64(packages))
	b.meter.update(func() {
		b.meter.expected = expected
		b.meter.extra = float64(links) / float64(packageTime) * float64(runtime.GOMAXPROCS(0))
	})
	return nil
}

// writeModules lays the embedded modules out for the go command.
func (b *builder) writeModules() error {
	for _, m := range b.modules {
		dir := b.dir(m)
		err := errors.Join(os.MkdirAll(dir, 0o755),
			os.WriteFile(filepath.Join(dir, "go.mod"), m.gomod, 0o644),
			os.WriteFile(filepath.Join(dir, "go.sum"), m.gosum, 0o644))
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) dir(m module) string { return filepath.Join(b.work.dir, "src", m.name) }

// stalePackages counts the packages that the go command would have to compile.
func (b *builder) stalePackages(ctx context.Context, missing []Tool) (int, error) {
	// A program is always stale, because it is not installed; the rest is stale when the build cache lacks it.
	const format = `{{if .Stale}}{{.ImportPath}}@{{with .Module}}{{.Version}}{{end}} {{.StaleReason}}{{end}}`
	fetched := newMeter(b.out, "reading the sources, fetched", modulesUnit, -1)
	defer fetched.stop()
	stale := map[string]bool{} // Modules share packages of the standard library.
	for _, m := range b.modules {
		args := append([]string{"list", "-deps", "-f", format}, m.flags()...)
		n := len(args)
		for _, tool := range missing {
			if m.packages[tool] != "" {
				args = append(args, m.packages[tool])
			}
		}
		if len(args) == n {
			continue
		}
		out, err := b.run(ctx, m, args, func(line string) {
			if strings.HasPrefix(line, "go: downloading ") {
				fetched.add(1)
			}
		})
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(out) {
			name, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name != "" && !strings.Contains(reason, "available in build cache") {
				stale[name] = true
			}
		}
	}
	return len(stale), nil
}

// checkSpace refuses to start what the disk has no room for.
func (b *builder) checkSpace(ctx context.Context, packages int) error {
	b.need = resultSpace + uint64(packages)*packageSpace
	goCache, err := b.run(ctx, b.modules[0], []string{"env", "GOCACHE"}, nil)
	if err != nil {
		return err
	}
	for _, place := range []struct {
		dir  string
		need uint64
	}{{b.cache.root, b.need / 2}, {strings.TrimSpace(goCache), b.need}} { // Mostly they share a disk.
		// A directory that is not there yet, or a system that cannot tell, is no reason to refuse.
		if free, err := b.freeSpace(place.dir); err == nil && free < place.need {
			return spaceError(place.dir, place.need)
		}
	}
	return nil
}

// make builds one tool into the workspace and moves it into the cache.
func (b *builder) make(ctx context.Context, tool Tool) error {
	m := b.moduleOf(tool)
	to := filepath.Join(b.work.dir, tool.file())
	b.meter.name("building " + string(tool))
	if b.meter.total == 0 {
		b.meter.name("linking " + string(tool))
	}
	args := append([]string{"build", "-v", "-o", to}, m.flags()...)
	_, err := b.run(ctx, m, append(args, m.packages[tool]), func(line string) {
		if strings.HasPrefix(line, "go: ") || strings.HasPrefix(line, "#") {
			return
		}
		b.meter.add(1)
		if strings.TrimSpace(line) == m.packages[tool] {
			b.meter.name("linking " + string(tool))
		}
	})
	if err != nil {
		return err
	}
	b.meter.update(func() { b.meter.spent += float64(linkTime) / float64(packageTime) * float64(runtime.GOMAXPROCS(0)) })
	if err := install(to, b.cached(tool)); err != nil {
		return explainWrite(err, b.cache.root, b.need)
	}
	return nil
}
