package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

// fieldOwner is what the demo applies as.
const fieldOwner = client.FieldOwner("demo")

// install applies config/default as kubectl apply -k would, less the Deployment: the operator's process runs out here.
func (w *world) install(ctx context.Context) (string, error) {
	objects, err := w.kustomize(ctx, "config/default")
	if err != nil {
		return "", err
	}
	applied := 0
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition": // Served since the cluster is up.
		case "Deployment":
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &w.deployment); err != nil {
				return "", fmt.Errorf("reading Deployment %s: %w", object.GetName(), err)
			}
		default:
			if err := w.apply(ctx, object); err != nil {
				return "", err
			}
			applied++
		}
	}
	if w.deployment == nil {
		return "", errors.New("config/default has no Deployment, so it does not say how to run the operator")
	}
	return fmt.Sprintf("%d objects of config/default", applied), nil
}

// kustomize renders a directory with kubectl, which every user of the directory has.
func (w *world) kustomize(ctx context.Context, dir string) ([]*unstructured.Unstructured, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, w.paths[binaries.Kubectl], "kustomize", dir) //nolint:gosec // Our own kubectl.
	cmd.Stderr = &stderr
	rendered, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w: %s", dir, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(rendered), len(rendered))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what %s renders to: %w", dir, err)
		}
		objects = append(objects, object)
	}
}

func (w *world) apply(ctx context.Context, object *unstructured.Unstructured) error {
	err := w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
