// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// tenantHead names the columns of a kind beside its names; tenantCells are what is in them.
func tenantHead(k session.Kind) []string {
	switch k.GVK {
	case session.TenantRegistries.GVK:
		return []string{"TENANTS", "FAILED", "READY", "MESSAGE"}
	case session.TenantTemplates.GVK:
		return []string{"REGISTRY", "TENANTS", "READY", "MESSAGE"}
	case session.Tenants.GVK:
		return []string{"UID", "TEMPLATE", "OBJECTS", "READY", "MESSAGE"}
	}
	return nil
}

// maxUID is how much of a uid stands in a table. A row may call a tenant anything; -o json has all of it.
const maxUID = 40

func tenantCells(o *session.Object) map[string]string {
	part := func(some, all string) string {
		return fmt.Sprintf("%d/%d", o.Number("status", some), o.Number("status", all))
	}
	switch o.Kind.GVK {
	case session.TenantRegistries.GVK:
		return map[string]string{"TENANTS": part("ready", "desired"), "FAILED": fmt.Sprint(o.Number("status", "failed"))}
	case session.TenantTemplates.GVK:
		return map[string]string{"REGISTRY": o.Text("spec", "registryId"), "TENANTS": part("readyTenants", "totalTenants")}
	case session.Tenants.GVK:
		return map[string]string{"UID": ui.FirstLine(o.Text("spec", "uid"), maxUID), "TEMPLATE": o.Text("spec", "templateRef"), "OBJECTS": part("readyResources", "desiredResources")}
	}
	return nil
}

// withoutRow is an object as it is answered to programs: as the API has it, but for what a Tenant has of the extra columns of its
// row. Their names stay.
func withoutRow(o *session.Object) *unstructured.Unstructured {
	extra := o.GetAnnotations()[tenantv1.AnnotationExtra]
	if o.Kind.GVK != session.Tenants.GVK || extra == "" {
		return o.Unstructured
	}
	var values map[string]any // none of something else
	_ = json.Unmarshal([]byte(extra), &values)
	for name := range values {
		values[name] = ui.HiddenValue
	}
	var shown strings.Builder
	encoder := json.NewEncoder(&shown)
	encoder.SetEscapeHTML(false)
	if values == nil || encoder.Encode(values) != nil {
		shown.WriteString(ui.HiddenValue)
	}
	hidden := o.DeepCopy()
	annotations := hidden.GetAnnotations()
	annotations[tenantv1.AnnotationExtra] = strings.TrimSpace(shown.String())
	hidden.SetAnnotations(annotations)
	return hidden
}
