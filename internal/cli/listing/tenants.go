// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// ownHeads are the columns of kinds that have their own; ownCells are their values.
var ownHeads = map[string][]string{
	session.CircuitBreakers.Plural:  {"NAME", "STATE", "STACKS", "OPENED", "MESSAGE"},
	session.TenantRegistries.Plural: {"NAME", "TENANTS", "FAILED", "READY", "MESSAGE"},
	session.TenantTemplates.Plural:  {"NAME", "REGISTRY", "TENANTS", "READY", "MESSAGE"},
	session.Tenants.Plural:          {"NAME", "UID", "TEMPLATE", "OBJECTS", "READY", "MESSAGE"},
}

// maxUID is the width of a uid in a table. A uid may be of any length; -o json shows all of it.
const maxUID = 40

func ownCells(o *session.Object, now time.Time) map[string]string {
	part := func(some, all string) string {
		return fmt.Sprintf("%d/%d", o.Number("status", some), o.Number("status", all))
	}
	switch o.Kind.GVK {
	case session.CircuitBreakers.GVK:
		opened := ""
		if at := o.Status.OpenedAt; at != nil {
			opened = ui.Age(now, at.Time) + " ago"
		}
		return map[string]string{"STATE": o.Status.State, "STACKS": fmt.Sprint(o.Status.Affected), "OPENED": opened, "MESSAGE": o.Message()}
	case session.TenantRegistries.GVK:
		return map[string]string{"TENANTS": part("ready", "desired"), "FAILED": fmt.Sprint(o.Number("status", "failed"))}
	case session.TenantTemplates.GVK:
		return map[string]string{"REGISTRY": o.Text("spec", "registryId"), "TENANTS": part("readyTenants", "totalTenants")}
	case session.Tenants.GVK:
		return map[string]string{"UID": ui.FirstLine(o.Text("spec", "uid"), maxUID), "TEMPLATE": o.Text("spec", "templateRef"), "OBJECTS": part("readyResources", "desiredResources")}
	}
	return nil
}

// withoutRow hides the values of extra columns of a Tenant's row.
func withoutRow(o *session.Object) *unstructured.Unstructured {
	extra := o.GetAnnotations()[tenantv1.AnnotationExtra]
	if o.Kind.GVK != session.Tenants.GVK || extra == "" {
		return o.Unstructured
	}
	var values map[string]any // nil for invalid JSON
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
