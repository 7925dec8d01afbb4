package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is as much of a memcached server as the probe uses.
type fake struct {
	mu    sync.Mutex
	items map[string]string
}

func newFake(t *testing.T) (server *fake, address string) {
	t.Helper()
	listener := listen(t)
	server = &fake{items: map[string]string{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go server.talk(conn)
		}
	}()
	return server, listener.Addr().String()
}

func (f *fake) talk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for reader := bufio.NewReader(conn); ; {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		f.mu.Lock()
		switch words[0] {
		case "set":
			var size int
			_, _ = fmt.Sscan(words[4], &size)
			value := make([]byte, size+2)
			_, _ = io.ReadFull(reader, value)
			f.items[words[1]] = string(value[:size])
			_, _ = io.WriteString(conn, "STORED\r\n")
		default: // gets
			if value, ok := f.items[words[1]]; ok {
				_, _ = fmt.Fprintf(conn, "VALUE %s 0 %d 1\r\n%s\r\n", words[1], len(value), value)
			}
			_, _ = io.WriteString(conn, "END\r\n")
		}
		f.mu.Unlock()
	}
}

func (f *fake) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.items)
}

func (f *fake) change(change func(items map[string]string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f.items)
}

func summarized(t *testing.T, out string) summary {
	t.Helper()
	var s summary
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return s
}

func TestSpreadUsesEveryServer(t *testing.T) {
	t.Parallel()
	one, first := newFake(t)
	two, second := newFake(t)
	out, err := run(t, "memcached", "spread", first, second)
	if err != nil {
		t.Fatal(err)
	}
	got := summarized(t, out)
	if got.Hits != 100 || got.Misses+got.Wrong != 0 || len(got.Servers) != 2 {
		t.Errorf("want 100 hits on 2 servers, got %+v", got)
	}
	if diff := cmp.Diff(map[string]int{first: one.len(), second: two.len()}, got.Spread); diff != "" {
		t.Errorf("what the servers have and what is said (-have +said):\n%s", diff)
	}
}

func TestSpreadFailsWhenAServerHasNothing(t *testing.T) {
	t.Parallel()
	_, first := newFake(t)
	_, second := newFake(t)
	if _, err := run(t, "memcached", "spread", "--keys", "1", first, second); err == nil || !strings.Contains(err.Error(), "has none of 1 keys") {
		t.Errorf("spread = %v, want a server without keys", err)
	}
}

func TestGetCountsWhatIsLost(t *testing.T) {
	t.Parallel()
	server, address := newFake(t)
	if _, err := run(t, "memcached", "set", "--keys", "3", address); err != nil {
		t.Fatal(err)
	}
	server.change(func(items map[string]string) { delete(items, "probe-1") })
	out, err := run(t, "memcached", "get", "--keys", "3", address)
	if err != nil {
		t.Fatal(err)
	}
	want := summary{Servers: []string{address}, Keys: 3, Hits: 2, Misses: 1, Spread: map[string]int{address: 3}}
	if diff := cmp.Diff(want, summarized(t, out)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if _, err := run(t, "memcached", "get", "--keys", "3", "--all", address); err == nil || !strings.Contains(err.Error(), "1 of 3 keys are not there") {
		t.Errorf("get --all = %v, want a key to be missing", err)
	}
}

func TestWrongValueIsAnError(t *testing.T) {
	t.Parallel()
	server, address := newFake(t)
	server.change(func(items map[string]string) { items["probe-0"] = "another's" })
	out, err := run(t, "memcached", "get", "--keys", "1", address)
	if err == nil || !strings.Contains(err.Error(), "1 of 1 keys have values that nobody set") {
		t.Errorf("get = %v, want a wrong value", err)
	}
	if got := summarized(t, out); got.Wrong != 1 {
		t.Errorf("want one wrong value, got %+v", got)
	}
}

func TestServerThatIsDownIsAnError(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	address := listener.Addr().String()
	_ = listener.Close()
	if _, err := run(t, "memcached", "set", address); err == nil || !strings.Contains(err.Error(), "setting probe-0: ") {
		t.Errorf("set = %v, want it to name the key", err)
	}
}

func TestNamesLeadToServers(t *testing.T) {
	t.Parallel()
	answers := [][]string{{"10.0.0.2"}, {"10.0.0.2", "10.0.0.1"}} // The second pod is there a moment later.
	a := asker{within: time.Minute, servers: 2, lookup: func(_ context.Context, host string) ([]string, error) {
		if host != "cache" {
			return nil, fmt.Errorf("asked for %q", host)
		}
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}}
	got, err := a.find(t.Context(), []string{"cache"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10.0.0.1:11211", "10.0.0.2:11211"}, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestWaitingForServersEnds(t *testing.T) {
	t.Parallel()
	a := asker{within: 100 * time.Millisecond, servers: 2, lookup: func(context.Context, string) ([]string, error) { return []string{"10.0.0.1"}, nil }}
	_, err := a.find(t.Context(), []string{"cache"})
	if err == nil || !strings.Contains(err.Error(), "for cache to lead to 2 servers: the last time they led to 1: 10.0.0.1:11211") {
		t.Errorf("find = %v", err)
	}
}
