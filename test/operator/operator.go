// Package operator runs the operator beside a cluster as config/default would run it inside: as the same account, with the
// same rights and no more.
package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LeaseName is the Lease by which the operator's replicas elect their leader.
const LeaseName = "memcached-operator.example.com"

// fieldOwner is what the manifests are applied as.
const fieldOwner = client.FieldOwner("kubectl")

// Render is what kubectl, which every user of the directory has, makes of a directory with a kustomization.
func Render(ctx context.Context, kubectl, dir string) ([]*unstructured.Unstructured, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, kubectl, "kustomize", dir)
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

// Apply applies an object as kubectl apply --server-side would.
func Apply(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// Install applies the objects of config/default but for the Deployment, which it returns: it says how to run the operator,
// whose process runs out here. CRDs are passed over too, since the cluster serves them already.
func Install(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) (deployment *appsv1.Deployment, applied int, _ error) {
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition":
		case "Deployment":
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment); err != nil {
				return nil, 0, fmt.Errorf("reading Deployment %s: %w", object.GetName(), err)
			}
		default:
			if err := Apply(ctx, c, object); err != nil {
				return nil, 0, err
			}
			applied++
		}
	}
	if deployment == nil {
		return nil, 0, errors.New("installing the operator: the manifests have no Deployment, so they do not say how to run it")
	}
	return deployment, applied, nil
}

// Leader is who holds the Lease in the operator's namespace, nobody when it is free.
func Leader(ctx context.Context, c client.Client, namespace string) (string, error) {
	lease := &coordinationv1.Lease{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: LeaseName}, lease)
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", client.IgnoreNotFound(err)
	}
	return *lease.Spec.HolderIdentity, nil
}
