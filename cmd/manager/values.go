package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example-inc/memcached-operator/internal/imageref"
)

// into makes a setter of a checked parser. The parser's error is the rule that the value broke.
func into[T any](target *T, parser func(string) (T, error)) func(string) error {
	return func(value string) error {
		parsed, err := parser(value)
		if err == nil {
			*target = parsed
		}
		return err
	}
}

func boolFunc(fs *flag.FlagSet, target *bool, name, usage string) {
	fs.BoolFunc(name, usage, into(target, func(value string) (bool, error) {
		parsed, err := strconv.ParseBool(value)
		if err != nil {
			return false, errors.New("want true or false")
		}
		return parsed, nil
	}))
}

// namespaceList reads "a,b". Nothing at all means all namespaces, a gap in the list is a slip.
func namespaceList(value string) ([]string, error) {
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	var names []string
	for part := range strings.SplitSeq(value, ",") {
		name, err := namespace(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func namespace(value string) (string, error) {
	if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
		return "", fmt.Errorf("%q is no namespace name: want at most 63 lower-case letters, digits and inner hyphens", value)
	}
	return value, nil
}

func imageReference(value string) (string, error) {
	if err := imageref.Check(value); err != nil {
		return "", err
	}
	return value, nil
}

func concurrency(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxConcurrency {
		return 0, fmt.Errorf("want a whole number from 1 to %d", maxConcurrency)
	}
	return n, nil
}

func bindAddress(value string) (string, error) {
	if value == "0" {
		return value, nil
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		return "", errors.New("want host:port, :port, or 0 for off")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", errors.New("want a port from 0 to 65535")
	}
	if host != "" && net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
		return "", errors.New("want an IP address or a host name before the port")
	}
	return value, nil
}

func certDir(value string) (string, error) {
	for _, name := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(value, name)); err != nil {
			return "", fmt.Errorf("want a directory with tls.crt and tls.key: %w", err)
		}
	}
	return value, nil
}

func kubeconfig(value string) (string, error) {
	if info, err := os.Stat(value); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("want a kubeconfig file that exists")
	}
	return value, nil
}

// checkProxies refuses a proxy that no client could use, before it is handed to every operand.
func checkProxies(getenv func(string) string) error {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		value := getenv(name)
		if value == "" || proxyURL(value) || !strings.Contains(value, "://") && proxyURL("http://"+value) {
			continue
		}
		// What stands before the @ may be a password.
		shown := value[strings.LastIndex(value, "@")+1:]
		return fmt.Errorf("invalid value %q for variable %s: want a URL such as http://proxy.example.com:3128", shown, name)
	}
	return nil
}

func proxyURL(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Host != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
}
