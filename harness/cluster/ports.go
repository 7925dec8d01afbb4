package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The range lies below the ephemeral ports, so that no outgoing connection of anybody takes a port between the moment it
// is found free and the moment a component listens on it.
const (
	firstPort = 20000
	lastPort  = 31999
)

// reservations holds TCP ports for one cluster against other clusters on the machine: each process that reserves a TCP
// port also binds the UDP port of the same number for as long as it lives. Nothing is written, nothing can go stale.
type reservations struct {
	mu   sync.Mutex
	held []net.PacketConn
}

// reserve finds a TCP port that is free on the loopback address and that no other cluster has reserved.
func (r *reservations) reserve() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // No secret depends on it.
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		claim, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		probe, err := net.Listen("tcp", addr)
		if err != nil {
			_ = claim.Close()
			continue
		}
		if err := probe.Close(); err != nil {
			return 0, errors.Join(fmt.Errorf("releasing port %d: %w", port, err), claim.Close())
		}
		r.held = append(r.held, claim)
		return port, nil
	}
	return 0, fmt.Errorf("no free port among 200 tried between %d and %d on 127.0.0.1", firstPort, lastPort)
}

// release gives all ports back.
func (r *reservations) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, claim := range r.held {
		_ = claim.Close()
	}
	r.held = nil
}
