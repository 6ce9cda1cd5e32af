// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io/fs"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/config/crd"
)

// installFlux adds Flux's source kinds to an API that lacks them.
func installFlux(t *testing.T, c client.Client) { installKinds(t, c, crd.Flux()) }

// installYuba adds Yuba's own kinds to an API, like `kubectl apply -f config/crd`.
func installYuba(t *testing.T, c client.Client) { installKinds(t, c, crd.FS) }

// installKinds creates missing definitions, and waits until their kinds are served.
func installKinds(t *testing.T, c client.Client, files fs.FS) {
	t.Helper()
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := fs.ReadFile(files, e.Name())
		if err != nil {
			t.Fatal(err)
		}
		var kind apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &kind); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), &kind); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("install %s: %v", kind.Name, err)
		}
		eventually(t, kind.Name+" is served", func() error { return served(t, c, kind.Name) })
	}
}

func served(t *testing.T, c client.Client, name string) error {
	var kind apiextensionsv1.CustomResourceDefinition
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &kind); err != nil {
		return err
	}
	for _, condition := range kind.Status.Conditions {
		if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("its conditions are %+v", kind.Status.Conditions)
}
