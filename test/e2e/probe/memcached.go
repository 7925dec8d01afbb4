package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/spf13/cobra"
)

const memcachedPort = "11211"

// asker says what to ask memcached servers for.
type asker struct {
	keys, servers   int
	prefix          string
	timeout, within time.Duration
	all             bool
	lookup          func(ctx context.Context, host string) ([]string, error)
}

// summary is what came of it.
type summary struct {
	// Servers are the addresses that the names led to.
	Servers []string `json:"servers"`
	// Keys is how many keys were set or asked for.
	Keys int `json:"keys"`
	// Hits have the value that was set, Misses none, and Wrong another one.
	Hits   int `json:"hits"`
	Misses int `json:"misses"`
	Wrong  int `json:"wrong"`
	// Spread is how many of the keys each server is to keep.
	Spread map[string]int `json:"spread"`
}

func memcachedCommand() *cobra.Command {
	a := asker{lookup: net.DefaultResolver.LookupHost}
	cmd := &cobra.Command{Use: "memcached", Short: "Set and get keys of memcached servers, as a client that spreads them does"}
	flags := cmd.PersistentFlags()
	flags.IntVar(&a.keys, "keys", 100, "number of keys")
	flags.StringVar(&a.prefix, "prefix", "probe", "what the keys begin with")
	flags.IntVar(&a.servers, "servers", 0, "wait until the addresses lead to so many servers (default any number)")
	flags.DurationVar(&a.within, "within", 30*time.Second, "how long to wait for that many servers")
	flags.DurationVar(&a.timeout, "timeout", 5*time.Second, "how long one request may take")
	for name, short := range map[string]string{
		"set":    "Set the keys",
		"get":    "Get the keys and check their values; keys that are not there are counted",
		"spread": "Set the keys, get all of them back, and fail unless every server has some",
	} {
		sub := &cobra.Command{
			Use: name + " ADDRESS...", Short: short, Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.run(cmd.Context(), cmd.OutOrStdout(), name, args)
			},
		}
		if name == "get" {
			sub.Flags().BoolVar(&a.all, "all", false, "fail when a key is not there")
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

// run does what the subcommand says, and prints the summary also when it fails.
func (a asker) run(ctx context.Context, out io.Writer, what string, addresses []string) error {
	servers, err := a.find(ctx, addresses)
	if err != nil {
		return err
	}
	list := &memcache.ServerList{}
	if err := list.SetServers(servers...); err != nil {
		return fmt.Errorf("using %s: %w", strings.Join(servers, ", "), err)
	}
	client := memcache.NewFromSelector(list)
	client.Timeout = a.timeout
	defer func() { _ = client.Close() }()

	s := summary{Servers: servers, Keys: a.keys, Spread: map[string]int{}}
	for _, server := range servers {
		s.Spread[server] = 0
	}
	err = a.countSpread(list, &s)
	if err == nil && what != "get" {
		err = a.set(client)
	}
	if err == nil && what != "set" {
		err = a.get(client, &s)
	}
	if err == nil {
		err = a.judge(what, s)
	}
	return errors.Join(err, json.NewEncoder(out).Encode(s))
}

// find looks up what the addresses lead to, until there are as many servers as there should be.
func (a asker) find(ctx context.Context, addresses []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.within)
	defer cancel()
	for {
		servers, err := a.resolve(ctx, addresses)
		if err == nil && len(servers) > 0 && (a.servers == 0 || len(servers) == a.servers) {
			return servers, nil
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			if err != nil {
				return nil, fmt.Errorf("looking up %s for %s: %w", strings.Join(addresses, ", "), a.within, err)
			}
			return nil, fmt.Errorf("waiting %s for %s to lead to %d servers: the last time they led to %d: %s",
				a.within, strings.Join(addresses, ", "), a.servers, len(servers), strings.Join(servers, ", "))
		}
	}
}

func (a asker) resolve(ctx context.Context, addresses []string) ([]string, error) {
	var servers []string
	for _, address := range addresses {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			host, port = address, memcachedPort
		}
		found, err := a.lookup(ctx, host)
		if err != nil {
			return nil, err
		}
		for _, ip := range found {
			servers = append(servers, net.JoinHostPort(ip, port))
		}
	}
	slices.Sort(servers) // The same servers in another order would be asked for other keys.
	return slices.Compact(servers), nil
}

func (a asker) key(i int) string { return fmt.Sprintf("%s-%d", a.prefix, i) }

func (a asker) value(i int) string { return "value of " + a.key(i) }

func (a asker) countSpread(list *memcache.ServerList, s *summary) error {
	for i := range a.keys {
		server, err := list.PickServer(a.key(i))
		if err != nil {
			return fmt.Errorf("choosing a server for %s: %w", a.key(i), err)
		}
		s.Spread[server.String()]++
	}
	return nil
}

func (a asker) set(client *memcache.Client) error {
	for i := range a.keys {
		if err := client.Set(&memcache.Item{Key: a.key(i), Value: []byte(a.value(i))}); err != nil {
			return fmt.Errorf("setting %s: %w", a.key(i), err)
		}
	}
	return nil
}

func (a asker) get(client *memcache.Client, s *summary) error {
	for i := range a.keys {
		item, err := client.Get(a.key(i))
		switch {
		case errors.Is(err, memcache.ErrCacheMiss):
			s.Misses++
		case err != nil:
			return fmt.Errorf("getting %s: %w", a.key(i), err)
		case string(item.Value) != a.value(i):
			s.Wrong++
		default:
			s.Hits++
		}
	}
	return nil
}

// judge says what is not as it has to be.
func (a asker) judge(what string, s summary) error {
	if s.Wrong > 0 {
		return fmt.Errorf("%d of %d keys have values that nobody set", s.Wrong, s.Keys)
	}
	if s.Misses > 0 && (a.all || what == "spread") {
		return fmt.Errorf("%d of %d keys are not there", s.Misses, s.Keys)
	}
	if what != "spread" {
		return nil
	}
	for _, server := range s.Servers {
		if s.Spread[server] == 0 {
			return fmt.Errorf("server %s has none of %d keys", server, s.Keys)
		}
	}
	return nil
}
