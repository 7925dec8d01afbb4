package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const (
	fieldOwner = "harness-cluster"
	crdTimeout = 30 * time.Second
)

func readCRDs(paths []string, systems []fs.FS) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, p := range paths {
		found, err := crdsAt(p)
		if err != nil {
			return nil, err
		}
		crds = append(crds, found...)
	}
	for _, system := range systems {
		found, err := crdsIn(system)
		if err != nil {
			return nil, err
		}
		crds = append(crds, found...)
	}
	return crds, nil
}

func crdsAt(p string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	if info.IsDir() {
		crds, err = crdsIn(os.DirFS(p))
	} else {
		crds, err = crdsOf(os.DirFS(filepath.Dir(p)), filepath.Base(p))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	if len(crds) == 0 {
		return nil, fmt.Errorf("%s: there is no CustomResourceDefinition", p)
	}
	return crds, nil
}

func crdsIn(system fs.FS) (crds []*apiextensionsv1.CustomResourceDefinition, _ error) {
	err := fs.WalkDir(system, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			return err
		}
		found, err := crdsOf(system, name)
		crds = append(crds, found...)
		return err
	})
	return crds, err
}

// crdsOf reads the CustomResourceDefinitions among the documents of one file.
func crdsOf(system fs.FS, name string) (crds []*apiextensionsv1.CustomResourceDefinition, _ error) {
	data, err := fs.ReadFile(system, name)
	if err != nil {
		return nil, err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return crds, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if kind.Kind != "CustomResourceDefinition" {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(document, crd); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		crds = append(crds, crd)
	}
}

// installCRDs applies the CRDs, which changes nothing where they are already installed, and waits until each is served.
func installCRDs(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, crd := range crds {
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		data, err := yaml.Marshal(crd)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", crd.Name, err)
		}
		_, err = client.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, crd.Name, types.ApplyYAMLPatchType, data,
			metav1.PatchOptions{FieldManager: fieldOwner, Force: new(true)})
		if err != nil {
			return fmt.Errorf("applying %s: %w", crd.Name, err)
		}
	}
	for _, crd := range crds {
		if err := awaitServed(ctx, client, crd); err != nil {
			return err
		}
	}
	return nil
}

// awaitServed asks for the resources themselves: a CRD is Established a moment before its resources are served.
func awaitServed(ctx context.Context, client clientset.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	var last error
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		list := path.Join("/apis", crd.Spec.Group, version.Name, crd.Spec.Names.Plural)
		err := wait.PollUntilContextTimeout(ctx, pollEvery, crdTimeout, true, func(ctx context.Context) (bool, error) {
			last = client.Discovery().RESTClient().Get().AbsPath(list).Param("limit", "1").Do(ctx).Error()
			if last != nil && !apierrors.IsNotFound(last) && !apierrors.IsServiceUnavailable(last) && !apierrors.IsTooManyRequests(last) {
				return false, last
			}
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting up to %s for %s to be served: %w (last answer: %w)", crdTimeout, list, err, last)
		}
	}
	return nil
}
