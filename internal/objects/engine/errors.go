// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/ssa/utils"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OwnWords is an error of Yuba that does not quote an API's response.
type OwnWords interface {
	error
	OwnWords()
}

// IsConflict reports whether an error means that another owner has an object.
func IsConflict(err error) bool {
	var c *ConflictError
	return errors.As(err, &c)
}

// quotes reports whether an error may quote a Secret, and which fields it concerns.
func quotes(manifest *unstructured.Unstructured, err error) (fields string, secret bool) {
	var own OwnWords
	if !utils.IsSecret(manifest) || apierrors.IsForbidden(err) || errors.As(err, &own) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "", false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			fields += fmt.Sprintf(" %s (%s)", c.Field, c.Type)
		}
	}
	if fields == "" {
		fields = " its content"
	}
	return fields, true
}

// notShown ends messages about Secrets.
const notShown = "its message is not shown, because it may quote the Secret"

// refused returns the error for an object of a batch that the API refused.
func refused(it *item, what string, err error) error {
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		what += fmt.Sprintf(" (%s)", reason)
	}
	if fields, secret := quotes(it.manifest, err); secret {
		return fmt.Errorf("%s %s: the API does not accept%s; %s", Name(it.id), what, fields, notShown)
	}
	return fmt.Errorf("%s %s: %w", Name(it.id), what, err)
}

// explain returns the error for a single object. Unlike [refused] it does not name it.
func (w *writing) explain(err error) error {
	if IsConflict(err) {
		return err
	}
	err = w.cluster.explain(err)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the API does not serve the kind %s of %s", w.Manifest.GetKind(), w.Manifest.GetAPIVersion())
	}
	fields, secret := quotes(w.Manifest, err)
	var status apierrors.APIStatus
	switch {
	case !secret:
		return err
	case errors.As(err, &status):
		is := status.Status()
		return &hiddenError{metav1.Status{Status: is.Status, Reason: is.Reason, Code: is.Code,
			Message: fmt.Sprintf("the API does not accept%s (%s); %s", fields, is.Reason, notShown)}}
	}
	return errors.New("the API returned an unexpected error; " + notShown)
}

// hiddenError is an answer of the API about a Secret: its reason, and not its message.
type hiddenError struct{ status metav1.Status }

func (e *hiddenError) Error() string { return e.status.Message }

// Status implements apierrors.APIStatus.
func (e *hiddenError) Status() metav1.Status { return e.status }

// definite reports whether the API certainly did not carry out a write.
func definite(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// conflictingFields are the fields of others that an apply would change; none for other errors.
func conflictingFields(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []metav1.StatusCause
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, cause)
		}
	}
	return fields
}

// maxManagers limits the fields that a message names.
const maxManagers = 5

// managersOf names the owners of the fields that an apply would change.
func managersOf(err error) string {
	var names []string
	for _, cause := range conflictingFields(err) {
		_, rest, _ := strings.Cut(cause.Message, `"`)
		name, _, _ := strings.Cut(rest, `"`)
		if text := fmt.Sprintf("%s (%s)", name, cause.Field); !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	if len(names) == 0 {
		return "another field manager"
	}
	if more := len(names) - maxManagers; more > 0 {
		names = append(names[:maxManagers], fmt.Sprintf("and %d more fields", more))
	}
	return strings.Join(names, ", ")
}
