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

	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// World is the API that a tenant's objects go to, including the cluster of the template's
// kubeConfig.
type World interface {
	// Serves reports whether the kind is served, here or by the cluster of the template. An error
	// means that it is unknown.
	Serves(ctx context.Context, gvk schema.GroupVersionKind) (bool, error)
	// DryRun applies an object with a dry run. It may modify its argument. The error is the API's.
	DryRun(ctx context.Context, o *unstructured.Unstructured) error
}

// world checks the objects without mistakes against the API.
func (c *checker) world(ctx context.Context, objects []render.Object, w World) error {
	if w == nil {
		return nil
	}
	namespaces := map[string]bool{}
	for _, o := range objects {
		if id := graph.IdentityOf(o.Object); id.Group == "" && id.Kind == "Namespace" {
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
		// Objects in a namespace of the tenant cannot be tried before that exists.
		if c.failed(o.ID) || namespaces[o.Object.GetNamespace()] {
			continue
		}
		if err := c.dryRun(ctx, o, w); err != nil {
			return err
		}
	}
	return nil
}

// unserved reports a kind that is not served, and the alternative.
func (c *checker) unserved(o render.Object, gvk schema.GroupVersionKind) {
	if c.subject.Template.Spec.KubeConfig == nil {
		c.find(Error, o.ID, "this API does not serve the kind %s of %s; use spec.kubeConfig to create objects of that kind in a cluster that does",
			gvk.Kind, o.Object.GetAPIVersion())
		return
	}
	c.find(Error, o.ID, "neither this API nor the cluster of spec.kubeConfig serves the kind %s of %s", gvk.Kind, o.Object.GetAPIVersion())
}

// dryRun finds objects that the API refuses. It returns other errors of the API.
func (c *checker) dryRun(ctx context.Context, o render.Object, w World) error {
	gvk := o.Object.GroupVersionKind()
	err := w.DryRun(ctx, o.Object.DeepCopy())
	wrong := mistyped(err)
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		// Conflicts with other owners depend on the tenant.
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

// mistyped names fields that the kind does not have, or has with other types; empty for other
// errors. The API reports them like a failure of its own, and quotes values.
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
	// If there are fields of both sorts, the API reports a random selection of them.
	if len(unknown) > 0 {
		fields = unknown
	}
	if len(fields) == 0 {
		return "a field has another type than its kind gives it"
	}
	slices.Sort(fields)
	return strings.Join(fields, ", ")
}

// refusal returns the API's reason. For a Secret it contains only the names of fields, because the
// reason may quote values.
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
