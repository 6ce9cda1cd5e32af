// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Missing is the state of what others refer to, and what does not exist.
const Missing State = "missing"

// OfConditions returns the state and the message of any object that says by the condition Ready how
// it stands: sources, Kustomizations, tenants, policies.
func OfConditions(object metav1.Object, conditions []metav1.Condition, suspended bool) (State, string) {
	ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
	if ready == nil {
		ready = &metav1.Condition{Status: metav1.ConditionUnknown, Message: "Not reconciled yet."}
	}
	switch {
	case object.GetDeletionTimestamp() != nil:
		return Deleting, ready.Message
	case suspended:
		return Suspended, "Suspended: Yuba does nothing until it is resumed."
	case ready.Status == metav1.ConditionTrue:
		return Ready, ready.Message
	case ready.Status == metav1.ConditionFalse && slices.Contains(waits, ready.Reason):
		return Waiting, ready.Message
	case ready.Status == metav1.ConditionFalse && ready.Reason == reasonPruneHeld:
		return Pending, ready.Message
	case ready.Status == metav1.ConditionFalse && ready.Reason != infrav1.ReasonProgressing:
		return Failed, ready.Message
	}
	return Running, ready.Message
}

// Worst returns the state that needs somebody most; Ready for none.
func Worst(states ...State) State {
	worst := Ready
	for _, s := range states {
		if s.Rank() < worst.Rank() {
			worst = s
		}
	}
	return worst
}
