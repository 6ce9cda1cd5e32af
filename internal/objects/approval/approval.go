// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// field is where a stack names the plan that is approved.
var field = []string{"spec", "approvePlan"}

// annotations are what approving, rejecting and asking for plans write beside the field.
var annotations = []string{infrav1.AnnotationApproved, infrav1.AnnotationRejected, infrav1.AnnotationReconcile, infrav1.AnnotationReplan,
	infrav1.AnnotationAdoptState, infrav1.AnnotationAcknowledged}

func isStack(u *unstructured.Unstructured) bool {
	kind := u.GroupVersionKind()
	return kind.Group == infrav1.GroupVersion.Group && kind.Kind == infrav1.Kind
}

// Concerns tells whether a manifest has an empty approvePlan, so that the live object has to be looked at before the
// manifest is applied to it.
func Concerns(manifest *unstructured.Unstructured) bool {
	if !isStack(manifest) {
		return false
	}
	value, found, err := unstructured.NestedString(manifest.Object, field...)
	return found && err == nil && value == infrav1.ApprovePlanManual
}

// Of returns the id of the plan that the live object approves; empty for none, and for a nil object.
func Of(live *unstructured.Unstructured) string {
	if value := valueOf(live); !isMode(value) {
		return value
	}
	return ""
}

// Omit returns what is to be applied or merged over the live object, nil for none, of a manifest that [Concerns] is true
// for: the manifest without the field, unless the live object has a mode that is to end.
func Omit(manifest, live *unstructured.Unstructured) *unstructured.Unstructured {
	if isMode(valueOf(live)) {
		return manifest
	}
	u := manifest.DeepCopy()
	unstructured.RemoveNestedField(u.Object, field...)
	return u
}

// CarryOver returns what is to replace the live object: a manifest that names no plan and no mode gets the plan that the
// live object approves, and any manifest what people asked of the stack by annotations.
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

// Enforcer is the field manager that applies approvePlan from a manifest, and sets it back when somebody changes it; empty for
// none.
func Enforcer(live metav1.Object) string {
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "" && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Manager != Manager && owns(entry.FieldsV1) {
			return entry.Manager
		}
	}
	return ""
}

// OwnedBy tells whether a field manager whose name begins so owns approvePlan.
func OwnedBy(live metav1.Object, manager string) bool {
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "" && strings.HasPrefix(entry.Manager, manager) && owns(entry.FieldsV1) {
			return true
		}
	}
	return false
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

// isMode tells modes from ids of plans.
func isMode(value string) bool {
	return value == infrav1.ApprovePlanAuto || value == infrav1.ApprovePlanDisable || strings.HasPrefix(value, infrav1.ApprovePlanReplanPrefix)
}
