package debian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	debianRelease = "ID=debian\nVERSION_CODENAME=bookworm\n"
	stanzas       = `Types: deb deb-src
# Where it comes from.
URIs: http://near/debian
Suites: bookworm bookworm-updates
 bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://near/security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://disabled/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://third/party
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
`
)

func TestHostSources(t *testing.T) {
	t.Parallel()
	const signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		suite  string
		want   []string
	}{
		"Stanzas": {
			reason: "Debian's own suites, without backports, sources and what is turned off",
			files:  map[string]string{"os-release": debianRelease, "apt/sources.list.d/debian.sources": stanzas},
			suite:  "bookworm",
			want: []string{
				"deb " + signed + "http://near/debian bookworm main", "deb " + signed + "http://near/debian bookworm-updates main",
				"deb " + signed + "http://near/security bookworm-security main",
			},
		},
		"AnotherSuite": {
			reason: "a mirror has all suites",
			files:  map[string]string{"os-release": debianRelease, "apt/sources.list": "deb http://near/debian bookworm main\n"},
			suite:  "trixie",
			want:   []string{"deb http://near/debian trixie main"},
		},
		"Lines": {
			reason: "options in brackets, comments, and a third party with a name or a key of its own",
			files: map[string]string{"os-release": debianRelease, "apt/sources.list": `
# deb http://comment/debian bookworm main
deb [arch=amd64 trusted=yes] http://inside/debian bookworm main non-free # near
deb-src http://near/debian bookworm main
deb https://third/apt tool-bookworm main
deb https://third/apt bookworm stable
deb [signed-by=/etc/apt/keyrings/third.gpg] https://third/apt bookworm main
`},
			suite: "bookworm",
			want:  []string{"deb [trusted=yes] http://inside/debian bookworm main"},
		},
		"NotDebian": {
			reason: "another distribution's mirror has no Debian",
			files:  map[string]string{"os-release": "ID=ubuntu\nVERSION_CODENAME=noble\n", "apt/sources.list": "deb http://near/ubuntu noble main\n"},
			suite:  "bookworm",
		},
		"NoSources": {
			reason: "security updates alone are no system",
			files:  map[string]string{"os-release": debianRelease, "apt/sources.list": "deb http://near/security bookworm-security main\n"},
			suite:  "bookworm",
		},
		"Nothing": {reason: "not every host has os-release", suite: "bookworm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for path, text := range tc.files {
				path = filepath.Join(root, "etc", path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := ""
			if len(tc.want) > 0 {
				want = strings.Join(tc.want, "\n") + "\n"
			}
			if got := sourcesOf(root, tc.suite); got != want {
				t.Errorf("%s: have\n%s\nwant\n%s", tc.reason, got, want)
			}
		})
	}
}
