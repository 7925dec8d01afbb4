// Package cluster starts Kubernetes control planes for tests, one interface for several levels of reality, and takes them
// down so that nothing stays behind: not after a clean Stop, nor after Ctrl-C, a panic, a go test -timeout, a SIGKILL of
// the test process or a failed start.
//
//	c, err := cluster.Start(ctx, cluster.Options{Level: cluster.Envtest, CRDPaths: []string{"../../config/crd"}})
//	if err != nil { … }
//	defer c.Stop(ctx)
//
// Everything that a started cluster writes (certificates, data, logs, its kubeconfig) lives in one run directory of its
// own below os.TempDir. No kubeconfig that the package did not write itself is ever changed.
//
// Several test processes share one cluster when they are run by the command harness/cmd/cluster, which sets
// HARNESS_KUBECONFIG and HARNESS_LEVEL: Start then joins that cluster instead of booting another.
package cluster
