// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

func TestWhatIsSaidOfARefusedSecretShowsNothingOfIt(t *testing.T) {
	of := func(kind string) *writing {
		u := inNamespace("shop")
		u.SetKind(kind)
		return &writing{manifest: u}
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "c", field.ErrorList{field.Invalid(field.NewPath("data").Key("x"), "hunter2", "is no good")})
	for sentence, err := range map[string]error{"an invalid one": invalid, "any other": errors.New("unable to decode hunter2")} {
		if got := of("Secret").explain(err).Error(); strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", sentence, got)
		}
	}
	if got := of("Secret").explain(invalid).Error(); !strings.Contains(got, "data[x]") {
		t.Errorf("the field is not named: %s", got)
	}
	if got := of("ConfigMap").explain(invalid).Error(); !strings.Contains(got, "is no good") {
		t.Errorf("of other kinds all is said: %s", got)
	}
}

func TestWhoOwnsFieldsIsNamed(t *testing.T) {
	conflict := func(causes ...metav1.StatusCause) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonConflict, Details: &metav1.StatusDetails{Causes: causes}}}
	}
	cause := func(manager, path string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "` + manager + `" using v1`, Field: path}
	}
	for want, err := range map[string]error{
		"kubectl-edit (.data.plan)":                          conflict(cause("kubectl-edit", ".data.plan"), cause("kubectl-edit", ".data.plan")),
		"kubectl-edit (.data.plan), helm (.metadata.labels)": conflict(cause("kubectl-edit", ".data.plan"), cause("helm", ".metadata.labels")),
		"somebody else":                                      conflict(),
	} {
		if got := managers(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var many []metav1.StatusCause
	for _, path := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		many = append(many, cause("m", path))
	}
	if got := managers(conflict(many...)); !strings.HasSuffix(got, "and 2 more fields") {
		t.Errorf("of many it says %q", got)
	}
}

func TestWhichKindsHaveAStatus(t *testing.T) {
	for sentence, c := range map[string]struct {
		version string
		want    bool
	}{
		"one with a part of its own for it": {"{name: v1, subresources: {status: {}}}", true},
		"one with a field for it":           {"{name: v1, schema: {openAPIV3Schema: {properties: {status: {type: object}}}}}", true},
		"one that takes everything":         {"{name: v1, schema: {openAPIV3Schema: {x-kubernetes-preserve-unknown-fields: true}}}", true},
		"one without":                       {"{name: v1, schema: {openAPIV3Schema: {properties: {spec: {type: object}}}}}", false},
		"another version":                   {"{name: v2}", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte("spec: {versions: ["+c.version+"]}"), &u.Object); err != nil {
				t.Fatal(err)
			}
			if got := definesStatus(u, "v1"); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}
