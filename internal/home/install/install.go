// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// FieldManager owns the fields that Yuba applies.
const FieldManager = "yuba"

// The chart has a copy of roles.yaml, and not of those for kinds that only the embedded home serves.
var (
	//go:embed roles.yaml
	roles []byte
	//go:embed embedded-roles.yaml
	embeddedRoles []byte
)

var applied = metav1.PatchOptions{FieldManager: FieldManager, Force: new(true)}

// Roles applies the cluster roles of the embedded home.
func Roles(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client for cluster roles: %w", err)
	}
	documents, err := split(roles)
	embedded, embeddedErr := split(embeddedRoles)
	if err := errors.Join(err, embeddedErr); err != nil {
		return fmt.Errorf("read the cluster roles: %w", err)
	}
	return each(append(documents, embedded...), func(document []byte) error {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(document, &object); err != nil {
			return fmt.Errorf("read the cluster roles: %w. This is a bug in Yuba", err)
		}
		var err error
		switch object.Kind {
		case "ClusterRole":
			_, err = client.RbacV1().ClusterRoles().Patch(ctx, object.Name, types.ApplyYAMLPatchType, document, applied)
		case "ClusterRoleBinding":
			_, err = client.RbacV1().ClusterRoleBindings().Patch(ctx, object.Name, types.ApplyYAMLPatchType, document, applied)
		default:
			err = errors.New("no kind of roles. This is a bug in Yuba")
		}
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.Kind, object.Name, err)
		}
		return nil
	})
}

// digestAnnotation records on an installed kind the digest of its document. Applying a kind is slow
// because it is large; a start skips kinds with a matching digest.
const digestAnnotation = "yuba.dev/installed-from"

// Kinds applies the CRDs in the *.yaml files of kinds and returns when all of them are served.
func Kinds(ctx context.Context, config *rest.Config, kinds fs.FS) error {
	if kinds == nil {
		return nil
	}
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client for kinds: %w", err)
	}
	documents, err := readAll(kinds)
	if err != nil {
		return err
	}
	there, err := installed(ctx, config)
	if err != nil {
		return err
	}
	return each(documents, func(document []byte) error {
		digest := digestOf(document)
		name, found := there[digest]
		if !found {
			var err error
			if name, err = applyKind(ctx, client, document, digest); err != nil {
				return err
			}
		}
		return waitServed(ctx, client, name)
	})
}

// installed returns the names of the installed kinds by the digests of their documents.
func installed(ctx context.Context, config *rest.Config) (map[string]string, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for kinds: %w", err)
	}
	list, err := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).
		List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the installed kinds: %w", err)
	}
	there := map[string]string{}
	for _, kind := range list.Items {
		there[kind.Annotations[digestAnnotation]] = kind.Name
	}
	return there, nil
}

// applyKind applies one CRD and returns its name.
func applyKind(ctx context.Context, client *apiextensions.Clientset, document []byte, digest string) (string, error) {
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(document, &crd.Object); err != nil {
		return "", fmt.Errorf("read a kind to install: %w", err)
	}
	if crd.GetKind() != "CustomResourceDefinition" {
		return "", fmt.Errorf("install %s %s: only kinds can be installed. This is a bug in Yuba", crd.GetKind(), crd.GetName())
	}
	annotations := crd.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[digestAnnotation] = digest
	crd.SetAnnotations(annotations)
	data, err := crd.MarshalJSON()
	if err != nil {
		return "", fmt.Errorf("install kind %s: %w", crd.GetName(), err)
	}
	// Decoding a large kind takes time, and the answer is not needed.
	err = client.ApiextensionsV1().RESTClient().Patch(types.ApplyPatchType).Resource("customresourcedefinitions").
		Name(crd.GetName()).VersionedParams(&applied, metav1.ParameterCodec).Body(data).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").Do(ctx).Error()
	if err != nil {
		return "", fmt.Errorf("install kind %s: %w", crd.GetName(), err)
	}
	return crd.GetName(), nil
}

func readAll(kinds fs.FS) ([][]byte, error) {
	var documents [][]byte
	err := fs.WalkDir(kinds, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		data, err := fs.ReadFile(kinds, name)
		if err != nil {
			return err
		}
		more, err := split(data)
		documents = append(documents, more...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the kinds to install: %w", err)
	}
	return documents, nil
}

// split separates YAML documents and drops those with only comments.
func split(data []byte) ([][]byte, error) {
	var documents [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		if !isEmpty(document) {
			documents = append(documents, document)
		}
	}
}

func isEmpty(document []byte) bool {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// each processes all documents concurrently and joins the errors.
func each(documents [][]byte, work func([]byte) error) error {
	failures := make([]error, len(documents))
	var all sync.WaitGroup
	for i, document := range documents {
		all.Go(func() { failures[i] = work(document) })
	}
	all.Wait()
	return errors.Join(failures...)
}
