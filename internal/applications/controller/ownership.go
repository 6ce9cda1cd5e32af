// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// ownership implements engine.Ownership for the one object of an instance, which has the instance as
// its controller. An object with the instance's labels and no controller is the instance's, too: it is
// what Cozystack, or an instance that was deleted without its object, has left.
type ownership struct{ uid types.UID }

func (o ownership) mine(live metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(live)
	return ref != nil && ref.UID == o.uid
}

// Standing implements engine.Ownership.
func (o ownership) Standing(live, _ metav1.Object) engine.Standing {
	return engine.Standing{Mine: o.mine(live), Marked: o.mine(live)}
}

// Rival implements engine.Ownership.
func (o ownership) Rival(live, manifest metav1.Object, _ bool) engine.Rival {
	if ref := metav1.GetControllerOfNoCopy(live); ref != nil && ref.UID != o.uid {
		return engine.Rival{Name: fmt.Sprintf("%s %s", ref.Kind, ref.Name), Firm: true, Seated: true}
	}
	for _, label := range []string{appv1.LabelKind, appv1.LabelGroup, appv1.LabelName} {
		if live.GetLabels()[label] != manifest.GetLabels()[label] {
			return engine.Rival{Name: "somebody else: it existed before the instance, without its labels", Firm: true}
		}
	}
	return engine.Rival{Seated: true}
}

// Adopt implements engine.Ownership.
func (o ownership) Adopt(live, manifest metav1.Object) map[string]any {
	return map[string]any{"metadata": map[string]any{"uid": live.GetUID(), "ownerReferences": o.References(live, manifest)}}
}

// References implements engine.Ownership.
func (o ownership) References(live, manifest metav1.Object) []metav1.OwnerReference {
	refs := slices.Clone(manifest.GetOwnerReferences())
	for _, ref := range live.GetOwnerReferences() {
		if ref.UID != o.uid {
			refs = append(refs, ref)
		}
	}
	return refs
}
