package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

const (
	kwokController = "kwok-controller"
	kwokCluster    = "harness"
)

// kwokNames are the components whose names differ from their binaries'.
var kwokNames = map[binaries.Tool]string{binaries.Kwok: kwokController}

// apiClients are the components that wait for kube-apiserver.
var apiClients = []string{string(binaries.KubeControllerManager), string(binaries.KubeScheduler), kwokController}

// kwokPorts are the ports of one simulated cluster.
type kwokPorts struct{ etcd, etcdPeer, apiServer, controllerManager, scheduler, kwok int }

// bootKwok has kwokctl install and start the components, and opens the gate of each once what it talks to serves: started
// together they would compete for the processor, fail, back off and, on a slow machine, give up.
func bootKwok(ctx context.Context, s *site) (*rest.Config, *authority, error) {
	ports, err := s.kwokPorts()
	if err != nil {
		return nil, nil, err
	}
	if err := s.create(ctx, ports); err != nil {
		return nil, nil, err
	}
	admin, err := clientcmd.BuildConfigFromFlags("", s.run.join("kwokctl.kubeconfig"))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the kubeconfig of kwokctl: %w", err)
	}
	if err := rest.LoadTLSFiles(admin); err != nil {
		return nil, nil, fmt.Errorf("reading the certificates of kwokctl: %w", err)
	}
	admin.CAFile, admin.CertFile, admin.KeyFile = "", "", "" // Their content is in now, and only one of both may be.
	users, err := loadAuthority(s.run.join("pki"))
	if err != nil {
		return nil, nil, err
	}
	clients, err := kubernetes.NewForConfig(tune(rest.CopyConfig(admin), io.Discard))
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}

	if err := s.awaitAPIServer(ctx, clients, ports); err != nil {
		return nil, nil, err
	}
	s.progress.done("etcd and kube-apiserver are up")
	if err := s.populate(ctx, clients, ports); err != nil {
		return nil, nil, err
	}
	s.progress.done(fmt.Sprintf("controllers, scheduler and %d simulated nodes are up", s.Nodes))
	return admin, users, nil
}

func (s *site) kwokPorts() (p kwokPorts, err error) {
	for _, port := range []*int{&p.etcd, &p.etcdPeer, &p.apiServer, &p.controllerManager, &p.scheduler, &p.kwok} {
		if *port, err = s.ports(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// create runs kwokctl, which leaves the started components behind when it returns.
func (s *site) create(ctx context.Context, ports kwokPorts) error {
	launchers, err := s.launchers(nil, kwokNames)
	if err != nil {
		return err
	}
	if err := s.prepareKwok(ports); err != nil {
		return err
	}
	log, err := s.run.log(string(binaries.Kwokctl))
	if err != nil {
		return err
	}
	cmd := exec.Command(launchers[binaries.Kwokctl], "create", "cluster", "--name", kwokCluster, //nolint:gosec // Our launcher.
		"--runtime", "binary", "--config", s.run.join("kwokctl.yaml"), "--kubeconfig", s.run.join("kwokctl.kubeconfig"),
		"--kube-authorization", "--secure-port", "--disable-qps-limits", "--timeout", s.StartTimeout.String(),
		"--etcd-binary", launchers[binaries.Etcd],
		"--kube-apiserver-binary", launchers[binaries.KubeAPIServer],
		"--kube-controller-manager-binary", launchers[binaries.KubeControllerManager],
		"--kube-scheduler-binary", launchers[binaries.KubeScheduler],
		"--kwok-controller-binary", launchers[binaries.Kwok],
	)
	cmd.Env = s.kwokEnv()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = errors.Join(s.during(ctx, cmd.Run), log.Close())
	if err != nil {
		return &componentError{string(binaries.Kwokctl), fmt.Errorf("running kwokctl: %w", err)}
	}
	return nil
}

// kwokEnv keeps kwokctl away from the user's files and settings.
func (s *site) kwokEnv() []string {
	env := []string{
		"KWOK_WORKDIR=" + s.run.join("kwok"),
		"HOME=" + s.run.path,
		"KUBECONFIG=" + s.run.join("kwokctl.kubeconfig"),
		"PATH=" + s.run.join("tools") + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != "HOME" && name != "KUBECONFIG" && name != "PATH" && !strings.HasPrefix(name, "KWOK_") {
			env = append(env, entry)
		}
	}
	return env
}

// prepareKwok writes what kwokctl reads, and points the run directory at the places where kwokctl keeps things.
func (s *site) prepareKwok(ports kwokPorts) error {
	home := s.run.join("kwok", "clusters", kwokCluster)
	config, err := yaml.Marshal(s.kwokConfig(ports))
	if err != nil {
		return fmt.Errorf("encoding the configuration of kwokctl: %w", err)
	}
	// kwokctl asks whether the cluster serves by starting kubectl again and again. That is asked here, more cheaply.
	kubectl := []byte("#!/bin/sh\nexit 0\n")
	errs := []error{
		os.WriteFile(s.run.join("kwokctl.yaml"), config, 0o600),
		os.Mkdir(s.run.join("tools"), 0o700),
		os.WriteFile(s.run.join("tools", "kubectl"), kubectl, 0o700), //nolint:gosec // It is to be executed.
		os.MkdirAll(home, 0o700),
		os.Remove(s.run.join("pki")),
		os.Symlink(home+"/pki", s.run.join("pki")),
		os.Symlink(s.run.join("logs"), home+"/logs"),
	}
	for _, component := range append(apiClients, string(binaries.KubeAPIServer)) {
		errs = append(errs, syscall.Mkfifo(s.run.gate(component), 0o600))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("preparing for kwokctl: %w", err)
	}
	return nil
}

// kwokConfig holds what kwokctl has no flags for.
func (s *site) kwokConfig(p kwokPorts) map[string]any {
	apiServer := make([]map[string]string, 0, len(s.APIServerFlags))
	for flag, value := range s.APIServerFlags {
		apiServer = append(apiServer, map[string]string{"key": flag, "value": value})
	}
	// Nobody stands by to take over, so nobody needs to be elected.
	alone := []map[string]string{{"key": "leader-elect", "value": "false"}}
	patch := func(component string, args []map[string]string) map[string]any {
		return map[string]any{"name": component, "extraArgs": args}
	}
	return map[string]any{
		"apiVersion": "config.kwok.x-k8s.io/v1alpha1",
		"kind":       "KwokctlConfiguration",
		"options": map[string]any{
			"bindAddress":               loopback,
			"etcdPort":                  p.etcd,
			"etcdPeerPort":              p.etcdPeer,
			"kubeApiserverPort":         p.apiServer,
			"kubeControllerManagerPort": p.controllerManager,
			"kubeSchedulerPort":         p.scheduler,
			"kwokControllerPort":        p.kwok,
		},
		"componentsPatches": []map[string]any{
			patch(string(binaries.Etcd), []map[string]string{{"key": "unsafe-no-fsync", "value": "true"}}),
			patch(string(binaries.KubeAPIServer), apiServer),
			patch(string(binaries.KubeControllerManager), alone),
			patch(string(binaries.KubeScheduler), alone),
		},
	}
}
