// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Deletion says what deleting a stack destroys or leaves behind; empty if nothing. left is true if its
// resources stay: destroying them first is another verb.
func Deletion(t *infrav1.Terraform) (says string, left bool) {
	name, targets := t.Namespace+"/"+t.Name, strings.Join(t.Spec.Targets, ", ")
	switch {
	case !t.DeletionTimestamp.IsZero() || !mayHaveResources(t):
		return "", false
	case !t.Spec.DestroyResourcesOnDeletion:
		return fmt.Sprintf("Deleting %s leaves its resources in place, unmanaged. The state stays, too: %s. "+
			"A stack of the same name adopts it.", name, placeOfState(t)), true
	case targets != "":
		return fmt.Sprintf("Deleting %s destroys the resources in its spec.targets: %s. There is no undo. Its other resources stay, and so does the state: %s.",
			name, targets, placeOfState(t)), false
	}
	return fmt.Sprintf("Deleting %s destroys everything that it manages. There is no undo.", name), false
}

// StaysBehind says what is left of a stack that was deleted; empty if nothing.
func StaysBehind(t *infrav1.Terraform) string {
	switch {
	case !mayHaveResources(t):
		return ""
	case !t.Spec.DestroyResourcesOnDeletion:
		return fmt.Sprintf("Its resources stay, unmanaged. The state stays: %s.", placeOfState(t))
	case len(t.Spec.Targets) > 0:
		return fmt.Sprintf("Resources outside spec.targets stay, and so does the state: %s.", placeOfState(t))
	}
	return ""
}

// mayHaveResources reports whether the stack applied, or found an existing state.
func mayHaveResources(t *infrav1.Terraform) bool {
	s := &t.Status
	destroyed := t.Spec.Destroy && conditionOf(t, infrav1.ConditionReady).Status == metav1.ConditionTrue
	return (s.LastAppliedRevision != "" || s.LastAppliedRun != "" || s.TakenOver != nil) && !destroyed
}

func placeOfState(t *infrav1.Terraform) string {
	if t.KeepsOwnState() {
		return "in the stack's custom backend"
	}
	return "Secret " + t.StateSecretName()
}
