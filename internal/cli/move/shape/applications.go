// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	groupApplications = "apps.cozystack.io"
	groupDefinitions  = "cozystack.io"
)

// Definitions are the kind of objects that declare the kinds of applications. They are in no namespace.
var Definitions = Kind{GK: gk(groupDefinitions, "ApplicationDefinition"), Plural: "applicationdefinitions"}

// Application is the kind of the instances of an application kind. Nothing but the mark stops their
// controller.
func Application(kind, plural string) Kind {
	return Kind{GK: gk(groupApplications, kind), Plural: plural, Active: true}
}

// Application reports whether the objects are instances of an application kind.
func (k Kind) Application() bool { return k.GK.Group == groupApplications }

// IsApplicationGroup reports whether a group has application kinds.
func IsApplicationGroup(group string) bool { return group == groupApplications }

// Declares is the kind that a definition declares.
func Declares(definition *unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "application", "kind") //nolint:errcheck // none
	return kind
}

// MakesNamespaces reports whether the instances of a definition are tenants with namespaces of their own.
func MakesNamespaces(definition *unstructured.Unstructured) bool {
	backend, _, _ := unstructured.NestedString(definition.Object, "spec", "backend", "type") //nolint:errcheck // none
	return backend == "Tenant"
}

// Definition is the definition to create at the target.
func Definition(o *unstructured.Unstructured) *unstructured.Unstructured {
	w := &unstructured.Unstructured{Object: fresh(Definitions, o)}
	w.SetAPIVersion(o.GetAPIVersion())
	w.SetKind(Definitions.GK.Kind)
	w.SetName(o.GetName())
	w.SetLabels(o.GetLabels())
	w.SetAnnotations(annotationsOf(o))
	return w
}

// SameSpec reports whether the target's definition means the same. It may have more where the target fills
// in defaults.
func SameSpec(live, source *unstructured.Unstructured) bool {
	return covers(live.Object["spec"], source.Object["spec"])
}
