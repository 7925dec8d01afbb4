package debian

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is an entry of apt's list of sources.
type source struct {
	uris, suites, components []string
	// signedBy is the keyring, trusted says that none is needed.
	signedBy string
	trusted  bool
}

// hostSources are the host's own sources as lines for apt, for suite instead of the host's; nothing where the host is no
// Debian, and mmdebstrap's defaults have to do. A host's mirror is near, and may be the only one that it reaches.
func hostSources(suite string) string {
	return sourcesOf("/", suite)
}

// sourcesOf are the sources of the system whose root directory is given.
func sourcesOf(root, suite string) string {
	release, err := os.ReadFile(filepath.Join(root, "etc/os-release"))
	if err != nil || setting(string(release), "ID") != "debian" {
		return ""
	}
	codename := setting(string(release), "VERSION_CODENAME")
	if codename == "" {
		return ""
	}
	paths := []string{filepath.Join(root, "etc/apt/sources.list")}
	for _, pattern := range []string{"*.list", "*.sources"} {
		more, _ := filepath.Glob(filepath.Join(root, "etc/apt/sources.list.d", pattern))
		paths = append(paths, more...)
	}
	var lines []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		parse := parseLines
		if strings.HasSuffix(path, ".sources") {
			parse = parseStanzas
		}
		for _, s := range parse(string(text)) {
			lines = append(lines, s.lines(codename, suite)...)
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, " "+suite+" main") }) {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// lines are one for each of Debian's own suites: a third party's have other names, components or keys.
func (s source) lines(codename, suite string) []string {
	if !slices.Contains(s.components, "main") || s.signedBy != "" && !strings.Contains(s.signedBy, "debian-archive") {
		return nil
	}
	options := ""
	switch {
	case s.trusted:
		options = "[trusted=yes] "
	case s.signedBy != "":
		options = "[signed-by=" + s.signedBy + "] "
	}
	var lines []string
	for _, name := range s.suites {
		pocket, ok := strings.CutPrefix(name, codename)
		if !ok || !slices.Contains([]string{"", "-updates", "-security", "/updates"}, pocket) {
			continue
		}
		for _, uri := range s.uris {
			lines = append(lines, "deb "+options+uri+" "+suite+pocket+" main")
		}
	}
	return lines
}

// parseLines reads the one-line format: deb [option=value...] uri suite component...
func parseLines(text string) []source {
	var sources []source
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		var s source
		rest = strings.TrimSpace(rest)
		if inside, after, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(inside, "[") {
			for option := range strings.FieldsSeq(inside[1:]) {
				name, value, _ := strings.Cut(option, "=")
				s.set(name, value)
			}
			rest = after
		}
		if fields := strings.Fields(rest); len(fields) > 2 {
			s.uris, s.suites, s.components = fields[:1], fields[1:2], fields[2:]
			sources = append(sources, s)
		}
	}
	return sources
}

// parseStanzas reads the format of .sources files: stanzas of fields, with lines that continue a field indented.
func parseStanzas(text string) []source {
	var sources []source
	for stanza := range strings.SplitSeq(text, "\n\n") {
		s, field, enabled, types := source{}, "", true, ""
		for line := range strings.Lines(stanza) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			value := line
			if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
				field, value, _ = strings.Cut(line, ":")
			}
			switch value = strings.TrimSpace(value); strings.ToLower(field) {
			case "enabled":
				enabled = value != "no"
			case "types":
				types += " " + value
			default:
				s.set(field, value)
			}
		}
		if enabled && slices.Contains(strings.Fields(types), "deb") {
			sources = append(sources, s)
		}
	}
	return sources
}

// set takes a field or option, whose names are the same in both formats. A key inside the file is a third party's.
func (s *source) set(name, value string) {
	fields := strings.Fields(value)
	switch strings.ToLower(name) {
	case "uris":
		s.uris = append(s.uris, fields...)
	case "suites":
		s.suites = append(s.suites, fields...)
	case "components":
		s.components = append(s.components, fields...)
	case "signed-by":
		s.signedBy += value
	case "trusted":
		s.trusted = value == "yes"
	}
}

// setting reads a variable of os-release.
func setting(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// hostProxies are the proxies of the host's apt as variables: mmdebstrap reads no configuration of the host's, and an
// option would stay in the file system.
func hostProxies(ctx context.Context, environ []string) []string {
	out, err := exec.CommandContext(ctx, "apt-config", "dump", "--no-empty", "--format", "%f %v%n").Output()
	if err != nil {
		return nil
	}
	var found []string
	for scanner := bufio.NewScanner(strings.NewReader(string(out))); scanner.Scan(); {
		for key, variable := range map[string]string{"Acquire::http::Proxy": "http_proxy", "Acquire::https::Proxy": "https_proxy"} {
			value, ok := strings.CutPrefix(scanner.Text(), key+" ")
			if ok && !slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, variable+"=") }) {
				found = append(found, variable+"="+value)
			}
		}
	}
	return found
}
