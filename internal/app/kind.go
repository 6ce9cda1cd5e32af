// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const (
	stackDefinition = "terraforms.infra.contrib.fluxcd.io"
	// statusOfYuba is a field of the status that tofu-controller's CRD lacks. Without it an API
	// silently drops which run a stack has.
	statusOfYuba = "currentRun"
)

// install says how to install Yuba's version of the kinds.
const install = "Install Yuba's version, which has all its fields:\n    yuba crds install"

// installMissing says how to install a kind that the API does not serve.
const installMissing = "Install it:\n    yuba crds install"

// serves reports whether the API serves a kind.
func serves(m apimeta.RESTMapper, kind schema.GroupVersionKind) (bool, error) {
	_, err := m.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil && !apimeta.IsNoMatchError(err) {
		return false, fmt.Errorf("ask the API for the kind %s: %w", kind.Kind, err)
	}
	return err == nil, nil
}

// definitionOf reads the CRD of a kind.
func definitionOf(ctx context.Context, c client.Client, name string) (*unstructured.Unstructured, error) {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return definition, c.Get(ctx, client.ObjectKey{Name: name}, definition)
}

// refuseOldKind fails if the CRD lacks fields that Yuba writes. Without permission to read CRDs it
// continues: nothing else needs that permission.
func refuseOldKind(ctx context.Context, c client.Client, log *slog.Logger) error {
	why, err := oldKind(ctx, c)
	if apierrors.IsForbidden(err) {
		log.Warn("cannot check the version of the kind Terraform: no permission to read its definition", "definition", stackDefinition, "error", err)
		return nil
	}
	if err == nil && why != "" {
		err = errors.New(why)
	}
	return err
}

// oldKind says why Yuba cannot use the API's definition of stacks; empty if it can.
func oldKind(ctx context.Context, c client.Client) (string, error) {
	definition, err := definitionOf(ctx, c, stackDefinition)
	switch {
	case apierrors.IsNotFound(err):
		return "the API does not serve the kind Terraform. " + install, nil
	case err != nil:
		return "", fmt.Errorf("read the definition of the kind: %w", err)
	case !hasField(definition, infrav1.GroupVersion.Version, "status", statusOfYuba):
		return "the API serves tofu-controller's version of the kind Terraform, which would drop fields that Yuba writes to the status. " + install, nil
	}
	return "", nil
}

// hasField reports whether a version of a kind has a field.
func hasField(definition *unstructured.Unstructured, version string, field ...string) bool {
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return false
	}
	path := []string{"schema", "openAPIV3Schema"}
	for _, name := range field {
		path = append(path, "properties", name)
	}
	for _, v := range versions {
		known, ok := v.(map[string]any)
		if !ok || known["name"] != version {
			continue
		}
		_, has, err := unstructured.NestedMap(known, path...)
		return has && err == nil
	}
	return false
}

// servedSources returns the kinds of sources of stacks that this API serves.
func servedSources(m apimeta.RESTMapper) ([]string, error) {
	return servedOf(m, infrav1.SourceKindExternalArtifact, infrav1.SourceKindGitRepository, infrav1.SourceKindOCIRepository, infrav1.SourceKindBucket)
}

// servedCharts returns the kinds of charts that this API serves.
func servedCharts(m apimeta.RESTMapper) ([]string, error) {
	return servedOf(m, sourcev1.HelmRepositoryKind, sourcev1.HelmChartKind)
}

func servedOf(m apimeta.RESTMapper, names ...string) ([]string, error) {
	var kinds []string
	for _, kind := range names {
		served, err := serves(m, sourcev1.GroupVersion.WithKind(kind))
		if err != nil {
			return nil, err
		}
		if served {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}
