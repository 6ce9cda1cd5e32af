// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// manifest renders a resource's manifest, which must be an object.
func manifest(d template.Dialect, data map[string]any, list tenantv1.List, res *tenantv1.TResource) (any, error) {
	apiVersion, kind := kindOf(list, res)
	where := place(list.Field, res.ID) + ".spec"
	if isStack(apiVersion, kind) {
		return stackManifest(d, data, where, res.Spec.Object, textOnly(apiVersion, kind))
	}
	return d.Value(where, res.Spec.Object, data, textOnly(apiVersion, kind))
}

// kindOf is the kind of a manifest, or of its list.
func kindOf(list tenantv1.List, res *tenantv1.TResource) (apiVersion, kind string) {
	return cmp.Or(res.Spec.GetAPIVersion(), list.APIVersion), cmp.Or(res.Spec.GetKind(), list.Kind)
}

func isStack(apiVersion, kind string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == infrav1.GroupVersion.Group && kind == infrav1.Kind
}

// textOnly reports which fields of a kind are always text, so that int, float and bool return text
// there.
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

// labelled are the fields with labels and annotations of an object: their own, or one that a stack
// writes.
var labelled = map[string]bool{"metadata": true, "writeOutputsToSecret": true, "backendConfig": true}

// lateProgram is a program file that a stack renders when it runs.
const lateProgram = "main.tf.tpl"

// complete sets defaults for stacks of tenants: plans are approved automatically, and a stack that
// is deleted with its tenant destroys its resources.
func complete(u *unstructured.Unstructured, res *tenantv1.TResource, where string) *Error {
	if !isStack(u.GetAPIVersion(), u.GetKind()) {
		return nil
	}
	spec, ok := u.Object["spec"].(map[string]any)
	if !ok {
		return nil // the API refuses it
	}
	// Values of the row would become templates, which can read all values of the stack.
	if files, _ := spec["inline"].(map[string]any); slices.ContainsFunc(sorted(files), func(name string) bool { return path.Base(name) == lateProgram }) {
		return &Error{Where: where + ".spec.spec.inline." + lateProgram, Reason: "programs of tenants are not rendered a second time; name the file main.tf"}
	}
	if spec["approvePlan"] == nil {
		spec["approvePlan"] = infrav1.ApprovePlanAuto
	}
	if spec["destroyResourcesOnDeletion"] == nil {
		spec["destroyResourcesOnDeletion"] = res.DeletionPolicy != tenantv1.DeletionPolicyRetain
	}
	return nil
}

func sorted(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
