// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// field is the field with the id of the approved plan.
var field = []string{"spec", "approvePlan"}

// annotations are written beside the field by approving, rejecting and requesting plans.
var annotations = []string{infrav1.AnnotationApproved, infrav1.AnnotationRejected, infrav1.AnnotationReconcile, infrav1.AnnotationReplan,
	infrav1.AnnotationAdoptState, infrav1.AnnotationAcknowledged, infrav1.AnnotationDecision}

func isStack(u *unstructured.Unstructured) bool {
	kind := u.GroupVersionKind()
	return kind.Group == infrav1.GroupVersion.Group && kind.Kind == infrav1.Kind
}

// Concerns reports whether a manifest has an empty approvePlan, so that applying it depends on the
// live object.
func Concerns(manifest *unstructured.Unstructured) bool {
	if !isStack(manifest) {
		return false
	}
	value, found, err := unstructured.NestedString(manifest.Object, field...)
	return found && err == nil && value == infrav1.ApprovePlanManual
}

// Of returns the id of the plan that the live object approves; empty for none or a nil object.
func Of(live *unstructured.Unstructured) string {
	if value := valueOf(live); !isMode(value) {
		return value
	}
	return ""
}

// Omit returns the manifest to apply to the live object, nil for none, if [Concerns] is true:
// without the field, unless that ends a mode of the live object.
func Omit(manifest, live *unstructured.Unstructured) *unstructured.Unstructured {
	if isMode(valueOf(live)) {
		return manifest
	}
	u := manifest.DeepCopy()
	unstructured.RemoveNestedField(u.Object, field...)
	return u
}

// CarryOver returns the manifest to replace the live object with: with the plan that the live
// object approves, unless it names a plan or a mode, and with the requests in its annotations.
func CarryOver(manifest, live *unstructured.Unstructured) *unstructured.Unstructured {
	if !isStack(manifest) || live == nil {
		return manifest
	}
	u := manifest.DeepCopy()
	if id := Of(live); id != "" && valueOf(u) == infrav1.ApprovePlanManual {
		if unstructured.SetNestedField(u.Object, id, field...) != nil {
			return manifest // its spec is not an object, which the API will refuse
		}
	}
	said := u.GetAnnotations()
	for _, name := range annotations {
		value, asked := live.GetAnnotations()[name]
		if _, has := said[name]; !asked || has {
			continue
		}
		if said == nil {
			said = map[string]string{}
		}
		said[name] = value
	}
	u.SetAnnotations(said)
	return u
}

// Manager owns approvals on behalf of people whose own field manager would lose them.
const Manager = "yuba-approval"

// Enforcer returns the field manager that applies approvePlan from a manifest, and so resets it
// when somebody changes it; empty for none.
func Enforcer(live metav1.Object) string {
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "" && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Manager != Manager && owns(entry.FieldsV1) {
			return entry.Manager
		}
	}
	return ""
}

// OwnedBy reports whether a field manager with that prefix owns approvePlan.
func OwnedBy(live metav1.Object, manager string) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource == "" && strings.HasPrefix(entry.Manager, manager) && owns(entry.FieldsV1)
	})
}

func owns(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var owned struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if json.Unmarshal(fields.GetRawBytes(), &owned) != nil {
		return false
	}
	_, ok := owned.Spec["f:approvePlan"]
	return ok
}

func valueOf(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(u.Object, field...) //nolint:errcheck // what is not a text approves nothing
	return value
}

// isMode distinguishes modes from ids of plans.
func isMode(value string) bool {
	return value == infrav1.ApprovePlanAuto || value == infrav1.ApprovePlanPolicy || value == infrav1.ApprovePlanDisable || strings.HasPrefix(value, infrav1.ApprovePlanReplanPrefix)
}
