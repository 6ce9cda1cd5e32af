// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// The API quotes values of Secrets; conditions must not.
func TestErrorsShowNothingOfSecrets(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{field.Invalid(field.NewPath("data").Key("x"), "hunter2", "is no good")})
	of := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "s", "namespace": "n"}}}
	}
	for entry, says := range map[string]func(*unstructured.Unstructured, error) string{
		"a batch": func(u *unstructured.Unstructured, err error) string {
			return refused(&item{manifest: u, id: owned.IDOf(u)}, "dry-run failed", err).Error()
		},
		"a single write": func(u *unstructured.Unstructured, err error) string {
			return (&writing{Write: Write{Manifest: u}, cluster: &Cluster{}}).explain(err).Error()
		},
	} {
		t.Run(entry, func(t *testing.T) {
			for sentence, err := range map[string]error{"an invalid one": invalid, "any other": errors.New("unable to decode hunter2")} {
				got := says(of("Secret"), err)
				if strings.Contains(got, "hunter2") || entry == "a batch" && !strings.Contains(got, "Secret/n/s dry-run failed") {
					t.Errorf("%s: %s", sentence, got)
				}
			}
			if got := says(of("Secret"), invalid); !strings.Contains(got, "data[x]") {
				t.Errorf("the field is not named: %s", got)
			}
			if got := says(of("ConfigMap"), invalid); !strings.Contains(got, "is no good") {
				t.Errorf("of other kinds all is shown: %s", got)
			}
		})
	}
}

// Callers decide by the reason of an error, of Secrets, too.
func TestErrorsOfSecretsKeepTheirReasons(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}}}
	for want, err := range map[metav1.StatusReason]error{
		metav1.StatusReasonInvalid:    apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{field.Invalid(field.NewPath("data"), "hunter2", "is no good")}),
		metav1.StatusReasonBadRequest: apierrors.NewBadRequest("hunter2"),
		metav1.StatusReasonForbidden:  apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New("exceeded quota")),
		metav1.StatusReasonUnknown:    errors.New("unable to decode hunter2"),
	} {
		got := (&writing{Write: Write{Manifest: secret}, cluster: &Cluster{}}).explain(err)
		if reason := apierrors.ReasonForError(got); reason != want {
			t.Errorf("the reason is %q, want %q", reason, want)
		}
		var status apierrors.APIStatus
		if errors.As(got, &status) && strings.Contains(fmt.Sprint(status.Status()), "hunter2") {
			t.Errorf("the status has what the API quoted: %v", status.Status())
		}
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
		"another field manager":                              conflict(),
	} {
		if got := managersOf(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var many []metav1.StatusCause
	for _, path := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		many = append(many, cause("m", path))
	}
	if got := managersOf(conflict(many...)); !strings.HasSuffix(got, "and 2 more fields") {
		t.Errorf("of many it says %q", got)
	}
}
