// Package crd holds the custom resource definitions as they are shipped, for tests and programs that install them.
package crd

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Files are the YAML files under bases, as controller-gen writes them.
//
//go:embed bases/*.yaml
var Files embed.FS

// Definitions are the custom resource definitions by the name of their kind.
func Definitions() (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(Files, "bases/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the custom resource definitions: %w", err)
	}
	all := make(map[string]*apiextensionsv1.CustomResourceDefinition, len(names))
	for _, name := range names {
		data, err := Files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &definition); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
		all[definition.Spec.Names.Kind] = &definition
	}
	return all, nil
}
