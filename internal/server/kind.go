// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const (
	stackDefinition = "terraforms.infra.contrib.fluxcd.io"
	// statusOfYuba is a field of the status that tofu-controller's definition of the kind lacks. Without it an API drops,
	// without a word, what tells which run a stack has in hand.
	statusOfYuba = "currentRun"
)

// refuseOldKind finds out whether the API serves the kind with all that Yuba writes. Who may not look goes on: the right to
// read definitions is not otherwise needed.
func refuseOldKind(ctx context.Context, c client.Client, log *slog.Logger) error {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err := c.Get(ctx, client.ObjectKey{Name: stackDefinition}, definition)
	const install = "Install Yuba's, which has all of its fields, from a clone of the repository:\n    kubectl apply --server-side --force-conflicts -f config/crd"
	switch {
	case apierrors.IsForbidden(err):
		log.Warn("the definition of the kind may not be read, so that its version is not known", "definition", stackDefinition, "error", err)
		return nil
	case apierrors.IsNotFound(err):
		return errors.New("the API does not serve the kind Terraform. " + install)
	case err != nil:
		return fmt.Errorf("look at the definition of the kind: %w", err)
	case !keepsStatus(definition):
		return errors.New("the API serves tofu-controller's version of the kind Terraform, which would drop what Yuba writes into the status. " + install)
	}
	return nil
}

// keepsStatus says whether a definition has the fields of Yuba's status.
func keepsStatus(definition *unstructured.Unstructured) bool {
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return false
	}
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["name"] != infrav1.GroupVersion.Version {
			continue
		}
		_, has, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status", "properties", statusOfYuba)
		return has && err == nil
	}
	return false
}
