package binaries

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// mirrors are the addresses releases come from.
type mirrors struct{ envtestIndex, kubernetes, etcd, kwok, kwokRelease string }

// mirrorsFrom reads the addresses from the environment, for networks that have a mirror instead of the internet.
func mirrorsFrom(env func(string) string) mirrors {
	base := func(variable, fallback string) string {
		return strings.TrimSuffix(cmp.Or(env(variable), fallback), "/")
	}
	return mirrors{
		envtestIndex: base("HARNESS_ENVTEST_INDEX_URL", defaultEnvtestIndex),
		kubernetes:   base("HARNESS_KUBERNETES_URL", "https://dl.k8s.io/release"),
		etcd:         base("HARNESS_ETCD_URL", "https://github.com/etcd-io/etcd/releases/download"),
		kwok:         base("HARNESS_KWOK_URL", "https://github.com/kubernetes-sigs/kwok/releases/download"),
		// kwok publishes no checksum files, but the description of its release has a digest for each file.
		kwokRelease: base("HARNESS_KWOK_RELEASE_URL", "https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/"+KwokVersion),
	}
}

// reasons say why tools were not downloaded.
type reasons []string

// String has each reason once.
func (r reasons) String() string {
	if len(r) == 0 {
		return "nothing was tried"
	}
	sorted := slices.Sorted(slices.Values(r))
	return strings.Join(slices.Compact(sorted), "; ")
}

// download fetches what it can into the cache and says why it could not fetch the rest, which then has to be built.
func (f *finder) download(ctx context.Context, work *workspace, missing []Tool) reasons {
	if f.env("HARNESS_OFFLINE") != "" {
		return reasons{"HARNESS_OFFLINE is set"}
	}
	client := newClient(f.probeTimeout, f.stallTimeout)
	offers, why := f.offers(ctx, client, missing)
	for _, tool := range missing {
		if len(offers[tool]) == 0 {
			continue
		}
		err := f.exclusively(ctx, f.cached(tool), func() error {
			return f.fetchAny(ctx, client, work, tool, offers[tool])
		})
		if err != nil {
			f.say("cannot download %s: %v", tool, err)
			why = append(why, err.Error())
		}
	}
	return why
}

// fetchAny installs a tool from the first offer that holds what it promises.
func (f *finder) fetchAny(ctx context.Context, client *client, work *workspace, tool Tool, offers []asset) error {
	var failed []string
	for _, offer := range offers {
		f.say("downloading %s from %s", tool, offer.url)
		path, err := client.fetch(ctx, work, offer, f.out)
		if err == nil {
			if err = install(path, f.cached(tool)); err == nil {
				return nil
			}
			err = explainWrite(err, f.cache.root, resultSpace)
		}
		failed = append(failed, err.Error())
	}
	return fmt.Errorf("%s", strings.Join(failed, "; "))
}

// offers asks all origins at once for their checksums. That is also the probe for a network: what does not answer
// in time is not asked for anything else, in the whole life of the process.
func (f *finder) offers(ctx context.Context, client *client, missing []Tool) (map[Tool][]asset, reasons) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.probeTimeout, fmt.Errorf("no answer within %s", f.probeTimeout))
	defer cancel()
	origins := f.mirrors.origins(missing)
	found, failed := make([]map[Tool]asset, len(origins)), make([]error, len(origins))
	var all sync.WaitGroup
	for i, origin := range origins {
		all.Go(func() {
			body, err := client.get(ctx, origin.checksums)
			if err == nil {
				found[i], err = origin.parse(body)
			}
			failed[i] = err
		})
	}
	all.Wait()

	offers, why := map[Tool][]asset{}, reasons(nil)
	for i := range origins {
		if failed[i] != nil {
			why = append(why, failed[i].Error())
		}
		for tool, asset := range found[i] {
			offers[tool] = append(offers[tool], asset)
		}
	}
	return offers, why
}

// host is what a failed connection is remembered by.
func host(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return address
}

// extracted names the file for an offer's program.
func (w *workspace) extracted(a asset) string {
	return filepath.Join(w.dir, a.sum[:16]+"-"+filepath.Base(cmp.Or(a.member, "file")))
}

// archive names the file for an offer's download; it has its final name only when its checksum was right.
func (w *workspace) archive(a asset) string {
	return filepath.Join(w.dir, a.sum[:16]+".download")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
