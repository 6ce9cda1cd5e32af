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

// manifest renders the manifest of a resource. It is an object, as what it is made of.
func manifest(d template.Dialect, data map[string]any, list tenantv1.List, res *tenantv1.TResource) (any, error) {
	apiVersion, kind := kindOf(list, res)
	where := place(list.Field, res.ID) + ".spec"
	if isStack(apiVersion, kind) {
		return stackManifest(d, data, where, res.Spec.Object, textOnly(apiVersion, kind))
	}
	return d.Value(where, res.Spec.Object, data, textOnly(apiVersion, kind))
}

// kindOf is what a manifest says that it is, or its list does.
func kindOf(list tenantv1.List, res *tenantv1.TResource) (apiVersion, kind string) {
	return cmp.Or(res.Spec.GetAPIVersion(), list.APIVersion), cmp.Or(res.Spec.GetKind(), list.Kind)
}

func isStack(apiVersion, kind string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == infrav1.GroupVersion.Group && kind == infrav1.Kind
}

// textOnly tells where an object of a kind takes text alone, so that int, float and bool give text
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

// labelled are the fields whose labels and annotations become those of an object: the one that they
// stand in, or one that a stack writes.
var labelled = map[string]bool{"metadata": true, "writeOutputsToSecret": true, "backendConfig": true}

// lateProgram is the file of a program that a stack renders itself when it runs.
const lateProgram = "main.tf.tpl"

// complete fills in what an object of a tenant means when its manifest leaves it open. Stacks of
// tenants are nobody's to approve, and one that goes with its tenant takes along what it has made.
func complete(u *unstructured.Unstructured, res *tenantv1.TResource, where string) *Error {
	if !isStack(u.GetAPIVersion(), u.GetKind()) {
		return nil
	}
	spec, ok := u.Object["spec"].(map[string]any)
	if !ok {
		return nil // which the API refuses
	}
	// What the row says would be a template by then, which reads all values of the stack.
	if files, _ := spec["inline"].(map[string]any); slices.ContainsFunc(sorted(files), func(name string) bool { return path.Base(name) == lateProgram }) {
		return &Error{Where: where + ".spec.spec.inline." + lateProgram, Reason: "templates of tenants are programs' only templates; call the file main.tf"}
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
