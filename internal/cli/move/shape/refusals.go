// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// BlockedByManager says why an object cannot move while a Kustomization that stays at a home manages
// it; empty if it can. The Kustomization may be nil.
func BlockedByManager(k *unstructured.Unstructured, home string) string {
	if k == nil {
		return ""
	}
	if _, moved := moving.MovedTo(k); moved {
		return ""
	}
	if suspended, _, _ := unstructured.NestedBool(k.Object, "spec", "suspend"); suspended { //nolint:errcheck // not suspended
		return ""
	}
	return fmt.Sprintf("Kustomization %[1]s/%[2]s, which does not move, manages it and would resume it at %[3]s. Move its namespace, too, or suspend it at %[3]s:\n"+
		"    kubectl patch kustomization %[2]s -n %[1]s --type merge -p '{\"spec\":{\"suspend\":true}}'", k.GetNamespace(), k.GetName(), home)
}

// Unchangeable says why the API would refuse to update an object to the wanted content; empty if it
// would not.
func Unchangeable(k Kind, live, wanted *unstructured.Unstructured) string {
	is, want := Content(k, live), Content(k, wanted)
	switch {
	case is["immutable"] == true && (k.GK == Secrets.GK || k.GK == ConfigMaps.GK) && !Covers(k, live, wanted):
		return "it is immutable and has other content"
	case k.GK == Secrets.GK && typeOf(is) != typeOf(want):
		return fmt.Sprintf("its type is %v instead of %v, and cannot be changed", typeOf(is), typeOf(want))
	case k.GK.Group == groupRBAC && !reflect.DeepEqual(is["roleRef"], want["roleRef"]):
		return "its roleRef is another, and cannot be changed"
	}
	return ""
}

func typeOf(secret map[string]any) any {
	if secret["type"] == nil {
		return "Opaque"
	}
	return secret["type"]
}
