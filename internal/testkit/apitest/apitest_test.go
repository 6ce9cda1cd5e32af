// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMain(m *testing.M) { Main(m) }

func TestNamespacesAreOfTheirOwn(t *testing.T) {
	if one, two := Namespace(t), Namespace(t); one == two {
		t.Errorf("both are %s", one)
	}
}

func TestAPIServesTheKinds(t *testing.T) {
	namespace := Namespace(t)
	for sentence, list := range map[string]client.ObjectList{
		"stacks":    &infrav1.TerraformList{},
		"artifacts": &sourcev1.ExternalArtifactList{},
	} {
		t.Run(sentence, func(t *testing.T) {
			if err := Client(t).List(t.Context(), list, client.InNamespace(namespace)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSchemeKnowsTheKinds(t *testing.T) {
	for _, object := range []client.Object{&infrav1.Terraform{}, &sourcev1.ExternalArtifact{}} {
		if _, _, err := kubetest.Scheme().ObjectKinds(object); err != nil {
			t.Error(err)
		}
	}
}
