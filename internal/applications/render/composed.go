// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/composition"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/schema"
)

// Composed completes an object of a composed instance: it belongs to the instance, and says which
// resource it is and which ones it needs.
func Composed(d *definition.Definition, i *Instance, r *composition.Resource, u *unstructured.Unstructured) error {
	meta := i.metadata(d)
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, meta.Labels)
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, meta.Annotations)
	annotations[appv1.AnnotationResource] = r.ID
	if len(r.Needs) > 0 {
		annotations[appv1.AnnotationNeeds] = strings.Join(r.Needs, ",")
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	u.SetOwnerReferences(meta.OwnerReferences)
	if r.IsStack() {
		return i.composedStack(u)
	}
	return nil
}

// Sketch has the objects of a composed instance as far as they are known before any of them exists, by
// the ids of their resources. It is no object of an API, and hides values of Secrets.
func Sketch(ctx context.Context, d *definition.Definition, i *Instance) (*unstructured.Unstructured, error) {
	objects, err := known(ctx, d, i)
	if err != nil {
		return nil, err
	}
	composition.Hide(objects)
	resources := map[string]any{}
	for id, u := range objects {
		resources[id] = u.Object
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": appv1.GroupVersion.String(), "kind": string(d.Backend), "resources": resources}}, nil
}

// SketchDigest is the digest of a sketch, but with values of Secrets.
func SketchDigest(ctx context.Context, d *definition.Definition, i *Instance) (digest [sha256.Size]byte, err error) {
	objects, err := known(ctx, d, i)
	if err != nil {
		return digest, err
	}
	content, err := json.Marshal(objects)
	if err != nil {
		return digest, fmt.Errorf("make the objects of %s: %w", i.Name, err)
	}
	return sha256.Sum256(content), nil
}

func known(ctx context.Context, d *definition.Definition, i *Instance) (map[string]*unstructured.Unstructured, error) {
	spec := schema.WithoutInternal(d.Schema.Default(i.Spec))
	objects, err := d.Composition.Known(ctx, &composition.Instance{Name: i.Name, Namespace: i.Namespace, Spec: spec})
	if err != nil {
		return nil, fmt.Errorf("make the objects of %s: %w", i.Name, err)
	}
	for id, u := range objects {
		if err := Composed(d, i, d.Composition.Resource(id), u); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// composedStack sets what a stack's template leaves open, and what the instance decides.
func (i *Instance) composedStack(u *unstructured.Unstructured) error {
	spec, ok := u.Object["spec"].(map[string]any)
	if !ok {
		return fmt.Errorf("stack %s has no spec. This is a bug in Yuba", u.GetName())
	}
	if spec["interval"] == nil {
		spec["interval"] = metav1.Duration{Duration: interval}.Duration.Truncate(time.Second).String()
	}
	if spec["destroyResourcesOnDeletion"] == nil || i.Annotations[appv1.AnnotationAbandon] == string(i.UID) {
		spec["destroyResourcesOnDeletion"] = i.Annotations[appv1.AnnotationAbandon] != string(i.UID)
	}
	rule, _ := spec["approvePlan"].(string)
	rule, err := i.composedRule(rule)
	if err != nil {
		return err
	}
	delete(spec, "approvePlan")
	if rule != "" {
		spec["approvePlan"] = rule
	}
	if wish := i.Annotations[appv1.AnnotationIdentity]; wish != "" {
		return &NotAllowedError{fmt.Sprintf("the annotation %s: objects of this kind have the service accounts that the definition names", appv1.AnnotationIdentity)}
	}
	// The controller of stacks adds it to each. Setting it here saves a write.
	u.SetFinalizers([]string{infrav1.Finalizer})
	return nil
}

// composedRule is how the plans of a stack are approved: as its template says, or by a person if the
// instance wants that.
func (i *Instance) composedRule(rule string) (string, error) {
	t := &appv1.TerraformBackend{ApprovePlan: appv1.ApprovePlan(rule)}
	if rule == infrav1.ApprovePlanDisable {
		t.ApprovePlan = appv1.ApproveManual
	}
	got, err := i.approvePlan(t)
	switch {
	case err != nil:
		return "", err
	case rule == infrav1.ApprovePlanDisable:
		return rule, nil
	case got == appv1.ApproveManual:
		return "", nil
	}
	return string(got), nil
}
