package binaries

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"sync"
	"time"
)

// unreachable remembers for the life of the process which hosts could not be reached.
var unreachable sync.Map

// maxChecksums bounds a document of checksums; the largest known is 1 MiB.
const maxChecksums = 16 << 20

// client downloads, and gives up early on what does not answer.
type client struct {
	http  *http.Client
	stall time.Duration
}

func newClient(connect, stall time.Duration) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: connect}).DialContext
	transport.TLSHandshakeTimeout = connect
	return &client{http: &http.Client{Transport: transport}, stall: stall}
}

// open starts a download. A server that is merely busy is asked once more; a host that cannot be reached never again.
func (c *client) open(ctx context.Context, address string) (*http.Response, error) {
	if err, ok := unreachable.Load(host(address)); ok {
		return nil, err.(error)
	}
	for attempt := 0; ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return nil, c.failed(ctx, address, err)
		}
		if resp.StatusCode == http.StatusOK {
			return resp, nil
		}
		_ = resp.Body.Close()
		busy := resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
		if attempt > 0 || !busy {
			return nil, fmt.Errorf("%s answered %s", address, resp.Status)
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("%s answered %s", address, resp.Status)
		}
	}
}

// failed words a failed connection and remembers it, unless it was the caller who gave up.
func (c *client) failed(ctx context.Context, address string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	} else {
		err = innermost(err)
	}
	err = fmt.Errorf("%s: %w", host(address), err)
	if !errors.Is(err, context.Canceled) {
		unreachable.Store(host(address), err)
	}
	return err
}

// innermost drops the layers of a network error that only repeat the address.
func innermost(err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(dns.Err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// get returns a small document.
func (c *client) get(ctx context.Context, address string) ([]byte, error) {
	resp, err := c.open(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxChecksums))
	if err != nil {
		return nil, c.failed(ctx, address, err)
	}
	return body, nil
}

// fetch downloads an asset into the workspace, checks it, and returns the path of the program in it.
func (c *client) fetch(ctx context.Context, work *workspace, a asset, out io.Writer) (string, error) {
	archive := work.archive(a)
	if !exists(archive) { // Else another tool came in the same archive.
		if err := c.save(ctx, a, archive, out); err != nil {
			return "", explainWrite(err, work.dir, resultSpace)
		}
	}
	if a.member == "" {
		return archive, nil
	}
	path := work.extracted(a)
	if err := extract(archive, a.member, path); err != nil {
		return "", explainWrite(fmt.Errorf("unpacking %s: %w", a.url, err), work.dir, resultSpace)
	}
	return path, nil
}

// save downloads to a temporary name and gives the file its own name once the checksum is right.
func (c *client) save(ctx context.Context, a asset, to string, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Headers count too: a server that accepts and then says nothing is given up on like one that stops in the middle.
	stalled := time.AfterFunc(c.stall, func() { cancel(fmt.Errorf("nothing came for %s", c.stall)) })
	defer stalled.Stop()
	resp, err := c.open(ctx, a.url)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()

	file, err := os.Create(to + ".part")
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	sum := a.newHash()
	meter := newMeter(out, path.Base(a.url), bytesUnit, resp.ContentLength)
	defer meter.stop()
	progress := writerFunc(func(p []byte) { stalled.Reset(c.stall); meter.add(int64(len(p))) })
	if _, err := io.Copy(io.MultiWriter(file, sum, progress), resp.Body); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("downloading %s: %w", a.url, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != a.sum {
		return fmt.Errorf("checksum mismatch for %s: got %s, want %s", a.url, got, a.sum)
	}
	return errors.Join(file.Close(), os.Rename(to+".part", to))
}

func (a asset) newHash() hash.Hash {
	if len(a.sum) == hex.EncodedLen(sha512.Size) {
		return sha512.New()
	}
	return sha256.New()
}

// writerFunc counts what is written and keeps nothing.
type writerFunc func(p []byte)

// Write never fails.
func (w writerFunc) Write(p []byte) (int, error) { w(p); return len(p), nil }

// extract writes the file called member, in whatever directory of the archive it is, to a path.
func extract(archive, member, to string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it has no %s", member)
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || path.Base(header.Name) != member {
			continue
		}
		program, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(program, reader) //nolint:gosec // The archive's checksum has been checked.
		return errors.Join(err, program.Close())
	}
}
