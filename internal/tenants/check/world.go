// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// World is the API that a tenant's objects go to, the one of the template's kubeConfig included.
type World interface {
	// Serves tells whether the kind is served, here or by the cluster that the template names. An
	// error means that it could not be asked.
	Serves(ctx context.Context, gvk schema.GroupVersionKind) (bool, error)
	// DryRun applies an object as it would be applied, and changes nothing. It may change the
	// object that it is given. The error is the API's own.
	DryRun(ctx context.Context, o *unstructured.Unstructured) error
}

// world asks the API about each object that has no mistake so far.
func (c *checker) world(ctx context.Context, objects []render.Object, w World) error {
	if w == nil {
		return nil
	}
	namespaces := map[string]bool{}
	for _, o := range objects {
		if id := render.IdentityOf(o.Object); id.Group == "" && id.Kind == "Namespace" {
			namespaces[id.Name] = true
		}
	}
	for _, o := range objects {
		gvk := o.Object.GroupVersionKind()
		served, err := w.Serves(ctx, gvk)
		if err != nil {
			return fmt.Errorf("ask for the kind %s: %w", gvk.Kind, err)
		}
		if !served {
			c.unserved(o, gvk)
			continue
		}
		// What is in a namespace of the tenant's own cannot be tried before that is there.
		if c.failed(o.ID) || namespaces[o.Object.GetNamespace()] {
			continue
		}
		if err := c.dryRun(ctx, o, w); err != nil {
			return err
		}
	}
	return nil
}

// unserved tells of a kind that nobody serves, and where else it could go.
func (c *checker) unserved(o render.Object, gvk schema.GroupVersionKind) {
	if c.subject.Template.Spec.KubeConfig == nil {
		c.find(Error, o.ID, "this API does not serve the kind %s of %s; use spec.kubeConfig to create objects of that kind in a cluster that does",
			gvk.Kind, o.Object.GetAPIVersion())
		return
	}
	c.find(Error, o.ID, "neither this API nor the cluster of spec.kubeConfig serves the kind %s of %s", gvk.Kind, o.Object.GetAPIVersion())
}

// dryRun finds what the API refuses. An API that is out of order is an error of its own.
func (c *checker) dryRun(ctx context.Context, o render.Object, w World) error {
	gvk := o.Object.GroupVersionKind()
	err := w.DryRun(ctx, o.Object.DeepCopy())
	wrong := mistyped(err)
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		// Somebody else's fields and objects are found when a tenant is made.
		return nil
	case wrong != "":
		c.find(Error, o.ID, "the API refuses it: %s", wrong)
	case meta.IsNoMatchError(err):
		c.unserved(o, gvk)
	case apierrors.IsNotFound(err):
		c.find(Warning, o.ID, "it could not be checked: %s", refusal(o, err))
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsRequestEntityTooLargeError(err), apierrors.ReasonForError(err) == metav1.StatusReasonUnsupportedMediaType:
		c.find(Error, o.ID, "the API refuses it: %s", refusal(o, err))
	default:
		return fmt.Errorf("try %s %s: %w", gvk.Kind, o.Object.GetName(), err)
	}
	return nil
}

// mistyped tells which fields of an object that was to be applied are none of its kind, or of other
// types; empty when the error is another one. An API tells of them as if it had failed itself, and
// quotes values.
func mistyped(err error) string {
	if err == nil {
		return ""
	}
	_, said, found := strings.Cut(err.Error(), "failed to create typed patch object (")
	if !found {
		return ""
	}
	_, said, _ = strings.Cut(said, "): ")
	var fields, unknown []string
	for line := range strings.Lines(strings.TrimPrefix(said, "errors:")) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), ", got ")
		switch {
		case strings.HasSuffix(line, ": field not declared in schema"):
			unknown = append(unknown, line)
		case strings.HasPrefix(line, "."):
			fields = append(fields, line)
		}
	}
	// Where there are fields of both sorts, it is chance whether the API tells of the others, too,
	// and in which order.
	if len(unknown) > 0 {
		fields = unknown
	}
	if len(fields) == 0 {
		return "a field has another type than its kind gives it"
	}
	slices.Sort(fields)
	return strings.Join(fields, ", ")
}

// refusal is what the API says. About a Secret it may say what is in it, so that only the fields
// are named then.
func refusal(o render.Object, err error) string {
	var status apierrors.APIStatus
	if o.Object.GetKind() != "Secret" || !errors.As(err, &status) {
		return err.Error()
	}
	var fields []string
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Field != "" {
				fields = append(fields, cause.Field)
			}
		}
	}
	if len(fields) == 0 {
		return string(apierrors.ReasonForError(err))
	}
	return fmt.Sprintf("%s: %s", apierrors.ReasonForError(err), strings.Join(fields, ", "))
}
