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
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// FieldManager owns the fields that Yuba applies.
const FieldManager = "yuba"

//go:embed roles.yaml
var roles []byte

var applied = metav1.PatchOptions{FieldManager: FieldManager, Force: new(true)}

// Roles applies the cluster roles.
func Roles(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for cluster roles: %w", err)
	}
	documents, err := split(roles)
	if err != nil {
		return fmt.Errorf("read the cluster roles: %w", err)
	}
	return each(documents, func(document []byte) error {
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(document, &role); err != nil {
			return fmt.Errorf("read the cluster roles: %w. This is a bug in Yuba", err)
		}
		_, err := client.RbacV1().ClusterRoles().Patch(ctx, role.Name, types.ApplyYAMLPatchType, document, applied)
		if err != nil {
			return fmt.Errorf("apply cluster role %s: %w", role.Name, err)
		}
		return nil
	})
}

// Kinds applies the CRDs in the *.yaml files of kinds and returns when all of them are served.
func Kinds(ctx context.Context, config *rest.Config, kinds fs.FS) error {
	if kinds == nil {
		return nil
	}
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for kinds: %w", err)
	}
	documents, err := readAll(kinds)
	if err != nil {
		return err
	}
	return each(documents, func(document []byte) error {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(document, &crd); err != nil {
			return fmt.Errorf("read a kind to install: %w", err)
		}
		if crd.Kind != "CustomResourceDefinition" {
			return fmt.Errorf("install %s %s: only kinds can be installed. This is a bug in Yuba", crd.Kind, crd.Name)
		}
		_, err := client.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, crd.Name, types.ApplyYAMLPatchType, document, applied)
		if err != nil {
			return fmt.Errorf("install kind %s: %w", crd.Name, err)
		}
		return waitServed(ctx, client, &crd)
	})
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

// split separates YAML documents and drops those that hold nothing but comments.
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
		var content map[string]any
		if err := yaml.Unmarshal(document, &content); err != nil {
			return nil, err
		}
		if len(content) > 0 && strings.TrimSpace(string(document)) != "" {
			documents = append(documents, document)
		}
	}
}

// each works on all documents at once and joins what went wrong.
func each(documents [][]byte, work func([]byte) error) error {
	failures := make([]error, len(documents))
	var all sync.WaitGroup
	for i, document := range documents {
		all.Go(func() { failures[i] = work(document) })
	}
	all.Wait()
	return errors.Join(failures...)
}
