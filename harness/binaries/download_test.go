package binaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// mirror serves releases of programs whose text is their name.
type mirror struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	// files by the last element of their path; handle, if set, answers first.
	files  map[string][]byte
	handle func(w http.ResponseWriter, r *http.Request, name string) bool
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{files: map[string][]byte{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	platform := runtime.GOOS + "-" + runtime.GOARCH
	for _, tool := range []Tool{KubeAPIServer, Kubectl, KubeControllerManager, KubeScheduler} {
		m.files[string(tool)] = []byte(tool)
		m.files[string(tool)+".sha256"] = fmt.Appendf(nil, "%x", sha256.Sum256([]byte(tool)))
	}
	etcd := "etcd-" + EtcdVersion + "-" + platform + ".tar.gz"
	m.files[etcd] = tarball(t, "etcd-"+EtcdVersion+"-"+platform, Etcd)
	m.files["SHA256SUMS"] = fmt.Appendf(nil, "%x  other.zip\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(m.files[etcd]), etcd)
	var digests []string
	for _, tool := range []Tool{Kwok, Kwokctl} {
		name := string(tool) + "-" + platform
		m.files[name] = []byte(tool)
		digests = append(digests, fmt.Sprintf(`{"name": %q, "digest": "sha256:%x"}`, name, sha256.Sum256([]byte(tool))))
	}
	m.files["HARNESS_KWOK_RELEASE_URL"] = []byte(`{"assets": [` + strings.Join(digests, ",") + `]}`)
	return m
}

// addEnvtest publishes an envtest archive too.
func (m *mirror) addEnvtest(t *testing.T) {
	t.Helper()
	name := "envtest-" + KubernetesVersion + "-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	m.files[name] = tarball(t, "controller-tools/envtest", Envtest()...)
	m.files["HARNESS_ENVTEST_INDEX_URL"] = fmt.Appendf(nil, "releases:\n  %s:\n    %s:\n      hash: %x\n      selfLink: %s/%s\n",
		KubernetesVersion, name, sha512.Sum512(m.files[name]), m.URL, name)
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	m.mu.Lock()
	m.asked = append(m.asked, name)
	m.mu.Unlock()
	if m.handle != nil && m.handle(w, r, name) {
		return
	}
	body, ok := m.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(body)
}

func (m *mirror) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func tarball(t *testing.T, dir string, tools ...Tool) []byte {
	t.Helper()
	var buf bytes.Buffer
	zipped := gzip.NewWriter(&buf)
	archive := tar.NewWriter(zipped)
	for _, tool := range tools {
		header := &tar.Header{Name: dir + "/" + string(tool), Mode: 0o755, Size: int64(len(tool)), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(tool)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// wantDownloaded checks that each program is the mirror's.
func wantDownloaded(t *testing.T, paths Paths, tools ...Tool) {
	t.Helper()
	for _, tool := range tools {
		got, err := os.ReadFile(paths[tool])
		if err != nil || string(got) != string(tool) {
			t.Errorf("%s is not what was published: %.40q, %v", tool, got, err)
		}
		if err := isExecutable(paths[tool]); err != nil {
			t.Error(err)
		}
	}
}

func TestDownloadsOfficialReleases(t *testing.T) {
	t.Parallel()
	server, fix := newMirror(t), newFixture(t)
	fix.Mirror, fix.GoTool = server.URL, "no-such-go"
	paths, err := fix.finder(newOutput()).ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantDownloaded(t, paths, All()...)
	if left := leftovers(t, fix.Cache); len(left) != len(All()) {
		t.Errorf("the cache has more than the programs: %v", left)
	}
}

func TestDownloadsTheEnvtestArchiveOnce(t *testing.T) {
	t.Parallel()
	server, fix := newMirror(t), newFixture(t)
	server.addEnvtest(t)
	fix.Mirror, fix.GoTool = server.URL, "no-such-go"
	paths, err := fix.finder(newOutput()).ensure(t.Context(), Envtest()...)
	if err != nil {
		t.Fatal(err)
	}
	wantDownloaded(t, paths, Envtest()...)
	archives := 0
	for _, name := range server.requests() {
		if strings.HasSuffix(name, ".tar.gz") {
			archives++
		}
	}
	if archives != 1 {
		t.Errorf("downloaded %d archives for three tools, want 1: %v", archives, server.requests())
	}
}

// CAPH#1724: one 503 of the release server failed the whole suite.
func TestUnavailableDownloadIsBuiltFromSource(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		handle func(w http.ResponseWriter, r *http.Request, name string) bool
		says   string
	}{
		"Unavailable": {
			reason: "a server that stays busy is not waited for",
			handle: func(w http.ResponseWriter, _ *http.Request, _ string) bool {
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			},
			says: "answered 503 Service Unavailable",
		},
		"UnavailableAfterChecksum": {
			reason: "the checksum was there, the file is not",
			handle: func(w http.ResponseWriter, _ *http.Request, name string) bool {
				if strings.HasSuffix(name, ".tar.gz") {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				return strings.HasSuffix(name, ".tar.gz")
			},
			says: "answered 503 Service Unavailable",
		},
		"Hang": {
			reason: "a server that takes the connection and says nothing is not waited for",
			handle: func(_ http.ResponseWriter, r *http.Request, _ string) bool { <-r.Context().Done(); return true },
			says:   "no answer within",
		},
		"Stall": {
			reason: "a download that stops in the middle is given up",
			handle: func(w http.ResponseWriter, r *http.Request, name string) bool {
				if !strings.HasSuffix(name, ".tar.gz") {
					return false
				}
				_, _ = w.Write([]byte("half"))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				return true
			},
			says: "nothing came for",
		},
		"WrongChecksum": {
			reason: "what is not what was published is not used",
			handle: func(w http.ResponseWriter, _ *http.Request, name string) bool {
				if strings.HasSuffix(name, ".tar.gz") {
					_, _ = w.Write([]byte("evil"))
				}
				return strings.HasSuffix(name, ".tar.gz")
			},
			says: "checksum mismatch for",
		},
		"NoChecksum": {
			reason: "a portal's login page is not a list of checksums",
			handle: func(w http.ResponseWriter, _ *http.Request, _ string) bool {
				_, _ = w.Write([]byte("<html>log in</html>"))
				return true
			},
			says: "etcd " + EtcdVersion + " has no etcd-",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, fix := newMirror(t), newFixture(t)
			server.handle = tc.handle
			fix.Mirror = server.URL
			out := newOutput()
			f := fix.finder(out)
			f.probeTimeout, f.stallTimeout = time.Second, 500*time.Millisecond
			paths, err := f.ensure(t.Context(), Etcd)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			wantBuilt(t, paths, Etcd)
			if !strings.Contains(out.String(), tc.says) {
				t.Errorf("%s: the reason %q is missing in:\n%s", tc.reason, tc.says, out)
			}
		})
	}
}

func TestBusyServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	server, fix := newMirror(t), newFixture(t)
	fix.Mirror, fix.GoTool = server.URL, "no-such-go"
	var once sync.Map
	server.handle = func(w http.ResponseWriter, _ *http.Request, name string) bool {
		_, again := once.LoadOrStore(name, true)
		if !again {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return !again
	}
	paths, err := fix.finder(newOutput()).ensure(t.Context(), Kwok)
	if err != nil {
		t.Fatal(err)
	}
	wantDownloaded(t, paths, Kwok)
}

func TestOfflineAsksNobody(t *testing.T) {
	t.Parallel()
	server, fix := newMirror(t), newFixture(t)
	fix.Mirror = server.URL
	fix.Env["HARNESS_OFFLINE"] = "1"
	paths, err := fix.finder(newOutput()).ensure(t.Context(), Etcd)
	if err != nil {
		t.Fatal(err)
	}
	wantBuilt(t, paths, Etcd)
	if requests := server.requests(); len(requests) != 0 {
		t.Errorf("asked the network for %v", requests)
	}
}

func TestUnreachableHostIsTriedOnce(t *testing.T) {
	t.Parallel()
	server := newMirror(t)
	server.handle = func(http.ResponseWriter, *http.Request, string) bool { panic(http.ErrAbortHandler) }
	client := newClient(time.Second, time.Second)
	if _, err := client.get(t.Context(), server.URL+"/SHA256SUMS"); err == nil {
		t.Fatal("want the connection to fail")
	}
	asked := len(server.requests()) // More than one, if the transport tries a lost connection again.
	if _, err := client.get(t.Context(), server.URL+"/kubectl.sha256"); err == nil {
		t.Error("want the failure to be remembered")
	}
	if again := server.requests(); len(again) != asked {
		t.Errorf("asked again: %v", again)
	}
}
