// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestPrints(t *testing.T) {
	object := func(change func(*metav1.PartialObjectMetadata)) Print {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1, ResourceVersion: "5",
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}}
		if change != nil {
			change(m)
		}
		return PrintOf(m)
	}
	for sentence, c := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		same   bool
	}{
		"nothing":                    {nil, true},
		"the status":                 {func(m *metav1.PartialObjectMetadata) { m.ResourceVersion = "6" }, true},
		"the spec":                   {func(m *metav1.PartialObjectMetadata) { m.Generation, m.ResourceVersion = 2, "6" }, false},
		"a label":                    {func(m *metav1.PartialObjectMetadata) { m.Labels["a"] = "x" }, false},
		"a label into an annotation": {func(m *metav1.PartialObjectMetadata) { m.Labels, m.Annotations = m.Annotations, m.Labels }, false},
		"another object of the name": {func(m *metav1.PartialObjectMetadata) { m.UID = "v" }, false},
		"its deletion":               {func(m *metav1.PartialObjectMetadata) { m.DeletionTimestamp = &metav1.Time{} }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := object(nil).Same(object(c.change)); got != c.same {
				t.Errorf("the same: %v", got)
			}
		})
	}
	uncounted := func(version string) Print {
		return object(func(m *metav1.PartialObjectMetadata) { m.Generation, m.ResourceVersion = 0, version })
	}
	if uncounted("5").Same(uncounted("6")) || !uncounted("5").Same(uncounted("5")) {
		t.Error("of a kind without generations the version counts")
	}
	if !Older("9", "10") || Older("10", "9") || Older("10", "10") || Older("", "1") {
		t.Error("versions are numbers")
	}
}

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
