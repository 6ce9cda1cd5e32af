// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/template"
)

// manifest renders the manifest of a resource. It is an object, as what it is made of.
func manifest(d template.Dialect, data map[string]any, list tenantv1.List, res *tenantv1.TResource) (any, error) {
	apiVersion, kind := cmp.Or(res.Spec.GetAPIVersion(), list.APIVersion), cmp.Or(res.Spec.GetKind(), list.Kind)
	object := res.Spec.Object
	if isStack(apiVersion, kind) {
		object = withOwnTemplates(object)
	}
	return d.Value(place(list.Field, res.ID)+".spec", object, data, textOnly(apiVersion, kind))
}

func isStack(apiVersion, kind string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == infrav1.GroupVersion.Group && kind == infrav1.Kind
}

// ownTemplates are the fields of a stack that it renders itself, with values that are there when it runs. Its marks are ${{ and
// }}, which would be those of tenants' templates behind a dollar sign.
var ownTemplates = []string{"values", "healthChecks", "webhooks"}

// withOwnTemplates makes a stack's own templates text that tenants' templates write. A program in values has none.
func withOwnTemplates(object map[string]any) map[string]any {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return object
	}
	spec = maps.Clone(spec)
	for _, field := range ownTemplates {
		value, there := spec[field]
		if all, ok := value.(map[string]any); ok && field == "values" && len(all) == 1 && all["hcl"] != nil {
			continue
		}
		if there {
			spec[field] = escaped(value)
		}
	}
	object = maps.Clone(object)
	object["spec"] = spec
	return object
}

func escaped(value any) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, "${{", `{{ "${{" }}`)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = escaped(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[strings.ReplaceAll(name, "${{", `{{ "${{" }}`)] = escaped(item)
		}
		return out
	}
	return value
}

// textOnly tells where an object of a kind takes text alone, so that int, float and bool give text there.
func textOnly(apiVersion, kind string) func(path []string) bool {
	data := apiVersion == "v1" && (kind == "ConfigMap" || kind == "Secret")
	service := apiVersion == "v1" && kind == "Service"
	return func(path []string) bool {
		switch path[0] {
		case "apiVersion", "kind", "metadata":
			return true
		case "data", "stringData", "binaryData":
			if data {
				return true
			}
		}
		for i, name := range path[:len(path)-1] {
			switch name {
			case "matchLabels", "nodeSelector":
				return true
			case "labels", "annotations":
				if i > 0 && labelled[path[i-1]] {
					return true
				}
			case "selector":
				if service && i == 1 {
					return true
				}
			}
		}
		return false
	}
}

// labelled are the fields whose labels and annotations become those of an object: the one that they stand in, or one that a
// stack writes.
var labelled = map[string]bool{"metadata": true, "writeOutputsToSecret": true, "backendConfig": true}

// complete fills in what an object of a tenant means when its manifest leaves it open. Stacks of tenants are nobody's to
// approve, and one that goes with its tenant takes along what it has made.
func complete(u *unstructured.Unstructured, res *tenantv1.TResource) {
	if !isStack(u.GetAPIVersion(), u.GetKind()) {
		return
	}
	spec, ok := u.Object["spec"].(map[string]any)
	if !ok {
		return // which the API refuses
	}
	if spec["approvePlan"] == nil {
		spec["approvePlan"] = infrav1.ApprovePlanAuto
	}
	if spec["destroyResourcesOnDeletion"] == nil {
		spec["destroyResourcesOnDeletion"] = res.DeletionPolicy != tenantv1.DeletionPolicyRetain
	}
}

func sorted(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
