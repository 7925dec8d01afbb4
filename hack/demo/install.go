package main

import (
	"context"
	"fmt"

	"github.com/example-inc/memcached-operator/harness/binaries"
	"github.com/example-inc/memcached-operator/test/operator"
)

// install applies config/default as kubectl apply -k would, less the Deployment: the operator's process runs out here.
func (w *world) install(ctx context.Context) (string, error) {
	objects, err := operator.Render(ctx, w.paths[binaries.Kubectl], "config/default")
	if err != nil {
		return "", err
	}
	deployment, applied, err := operator.Install(ctx, w.client, objects)
	w.deployment = deployment
	return fmt.Sprintf("%d objects of config/default", applied), err
}
