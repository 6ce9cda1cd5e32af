// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRefusalsShowNothingOfSecrets(t *testing.T) {
	kind := schema.GroupKind{Kind: "Secret"}
	invalid := apierrors.NewInvalid(kind, "s", field.ErrorList{field.Invalid(field.NewPath("data").Key("x"), "hunter2", "is no good")})
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "n"}}}
	for sentence, err := range map[string]error{"an invalid one": invalid, "any other": errors.New("unable to decode hunter2")} {
		got := refused(&item{manifest: secret, id: idOf(secret)}, "dry-run failed", err).Error()
		if strings.Contains(got, "hunter2") || !strings.Contains(got, "Secret/n/s dry-run failed") {
			t.Errorf("%s: %s", sentence, got)
		}
	}
	if got := refused(&item{manifest: secret, id: idOf(secret)}, "dry-run failed", invalid).Error(); !strings.Contains(got, "data[x]") {
		t.Errorf("the field is not named: %s", got)
	}
	other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "s", "namespace": "n"}}}
	if got := refused(&item{manifest: other, id: idOf(other)}, "dry-run failed", invalid).Error(); !strings.Contains(got, "is no good") {
		t.Errorf("of other kinds all is shown: %s", got)
	}
}
