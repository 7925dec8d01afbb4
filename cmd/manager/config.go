package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example-inc/memcached-operator/internal/proxy"
)

const (
	// defaultMemcachedImage names no registry, so that each cluster's own default applies.
	defaultMemcachedImage = "memcached:1.6.38-alpine"
	defaultConcurrency    = 8
	maxConcurrency        = 256

	envNamespaces     = "WATCH_NAMESPACE"
	envMemcachedImage = "RELATED_IMAGE_MEMCACHED"
	envOwnNamespace   = "POD_NAMESPACE"

	// ownNamespaceFile is where a pod finds the namespace that it runs in.
	ownNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// settings is what the flags and the environment say. Every value in it has been checked.
type settings struct {
	showVersion bool
	log         zap.Options
	kubeconfig  string

	watchNamespaces []string // None means all.
	memcachedImage  string
	proxy           []proxy.Setting
	concurrency     int

	leaderElect     bool
	leaderNamespace string

	probeAddress   string
	metricsAddress string
	metricsSecure  bool
	metricsCertDir string
	http2          bool
}

// parse reads the flags, and the environment where a flag is not given.
func parse(args []string, getenv func(string) string) (settings, error) {
	s := settings{
		memcachedImage: defaultMemcachedImage,
		concurrency:    defaultConcurrency,
		leaderElect:    true,
		probeAddress:   ":8081",
		metricsAddress: ":8443",
		metricsSecure:  true,
	}
	fs := newFlagSet(&s)
	if err := fs.Parse(args); err != nil {
		return settings{}, fmt.Errorf("%w (--help lists the flags)", err)
	}
	if fs.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q: only flags are taken (--help lists them)", fs.Arg(0))
	}
	if s.showVersion {
		return s, nil
	}
	if err := s.readEnvironment(getenv, given(fs)); err != nil {
		return settings{}, err
	}
	return s, s.check()
}

// newFlagSet declares the flags. It is silent: whatever is wrong becomes the one line that parse returns.
func newFlagSet(s *settings) *flag.FlagSet {
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.Func("kubeconfig", "Kubeconfig `file` of the cluster. (default KUBECONFIG, then the pod's own cluster, then ~/.kube/config)",
		into(&s.kubeconfig, kubeconfig))
	fs.BoolVar(&s.showVersion, "version", false, "Print the version and exit.")

	fs.Func("watch-namespaces", "Comma-separated `namespaces` to watch; empty means all. Also "+envNamespaces+".",
		into(&s.watchNamespaces, namespaceList))
	fs.Func("memcached-image", "`Image` of a Memcached that names none. Also "+envMemcachedImage+". (default "+defaultMemcachedImage+")",
		into(&s.memcachedImage, imageReference))
	fs.Func("max-concurrent-reconciles", fmt.Sprintf("`Number` of resources of a kind that are reconciled at once. (default %d)", defaultConcurrency),
		into(&s.concurrency, concurrency))

	boolFunc(fs, &s.leaderElect, "leader-elect", "Act only as the elected leader. (default true)")
	fs.Func("leader-election-namespace", "`Namespace` of the leader's Lease. Also "+envOwnNamespace+". (default the pod's own)",
		into(&s.leaderNamespace, namespace))

	fs.Func("health-probe-bind-address", "`Address` of /healthz and /readyz; 0 turns them off. (default :8081)",
		into(&s.probeAddress, bindAddress))
	fs.Func("metrics-bind-address", "`Address` of /metrics; 0 turns it off. (default :8443)",
		into(&s.metricsAddress, bindAddress))
	boolFunc(fs, &s.metricsSecure, "metrics-secure", "Serve metrics over HTTPS, to those whom the API server authorizes. (default true)")
	fs.Func("metrics-cert-dir", "`Directory` with the metrics server's tls.crt and tls.key. (default a self-signed certificate)",
		into(&s.metricsCertDir, certDir))
	boolFunc(fs, &s.http2, "enable-http2", "Offer HTTP/2 on the metrics server. Off because of its stream-reset weaknesses (CVE-2023-44487).")

	bindZapFlags(fs, &s.log)
	return fs
}

// bindZapFlags adds the zap flags, whose errors do not name the rule that a value broke.
func bindZapFlags(fs *flag.FlagSet, o *zap.Options) {
	zapFlags := flag.NewFlagSet("zap", flag.ContinueOnError)
	o.BindFlags(zapFlags)
	zapFlags.VisitAll(func(f *flag.Flag) {
		if f.Name == "zap-devel" {
			fs.Var(f.Value, f.Name, f.Usage)
			return
		}
		fs.Func(f.Name, f.Usage, func(value string) error {
			if err := f.Value.Set(value); err != nil {
				return fmt.Errorf("%w: %s", err, f.Usage)
			}
			return nil
		})
	})
}

// given are the names of the flags that were set on the command line.
func given(fs *flag.FlagSet) map[string]bool {
	names := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
}

// readEnvironment fills in what no flag says. A variable that is set to nothing counts as unset.
func (s *settings) readEnvironment(getenv func(string) string, flags map[string]bool) error {
	for _, v := range []struct {
		flag, name string
		set        func(string) error
	}{
		{"watch-namespaces", envNamespaces, into(&s.watchNamespaces, namespaceList)},
		{"memcached-image", envMemcachedImage, into(&s.memcachedImage, imageReference)},
		{"leader-election-namespace", envOwnNamespace, into(&s.leaderNamespace, namespace)},
	} {
		value := getenv(v.name)
		if value == "" || flags[v.flag] {
			continue
		}
		if err := v.set(value); err != nil {
			return fmt.Errorf("invalid value %q for variable %s: %w", value, v.name, err)
		}
	}
	s.proxy = proxy.FromEnvironment(getenv)
	return checkProxies(getenv)
}

// check judges what no single value shows.
func (s *settings) check() error {
	if s.leaderElect && s.leaderNamespace == "" {
		if _, err := os.Stat(ownNamespaceFile); err != nil {
			return fmt.Errorf("no value for flag -leader-election-namespace: outside a pod the Lease's namespace must be given " +
				"(or -leader-elect=false)")
		}
	}
	if s.metricsCertDir != "" && !s.metricsSecure {
		return fmt.Errorf("invalid value %q for flag -metrics-cert-dir: -metrics-secure=false serves no certificate", s.metricsCertDir)
	}
	return nil
}

func printUsage(out io.Writer) {
	fs := newFlagSet(&settings{})
	fs.SetOutput(out)
	_, _ = fmt.Fprintln(out, cmp.Or(version, "manager")+" runs the operator of Memcached and MyApp. Flags:")
	fs.PrintDefaults()
}
