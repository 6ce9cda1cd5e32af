// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// ofStack: the condition Ready is also true for a plan without changes, so the stack must have been
// applied, too: it has no outputs before. A stack with spec.destroy is ready when that is done.
func ofStack(o *unstructured.Unstructured) Readiness {
	all, _ := conditionsOf(o)
	c, told := all[infrav1.ConditionReady]
	suspended := truth(o.Object, "spec", "suspend") && c.status != statusTrue
	if !statusObserved(o, true) || !observed(o, c.generation, c.generation != 0) {
		if truth(o.Object, "spec", "suspend") {
			return ofSuspended(o) // its controller will never see that generation
		}
		return notObserved(o)
	}
	if plan := text(o.Object, "status", "plan", "pending"); plan != "" {
		return waiting(ReasonPlanPending, "the plan %s waits for approval; approve it with yuba approve %s -n %s", plan, o.GetName(), o.GetNamespace())
	}
	stalled := all[infrav1.ConditionStalled]
	switch {
	case suspended:
		return ofSuspended(o)
	case stalled.status == statusTrue:
		return ofStalled(stalled, c)
	case c.status != statusTrue:
		return ofFalse(infrav1.ConditionReady, c, told)
	case applied(o, all[infrav1.ConditionPlan]) || truth(o.Object, "spec", "destroy"):
		return isReady
	case truth(o.Object, "spec", "planOnly") || text(o.Object, "spec", "approvePlan") == infrav1.ApprovePlanDisable:
		return waiting(ReasonNeverApplies, "the stack only makes plans: spec.planOnly is true, or spec.approvePlan is disable")
	}
	return waiting(ReasonNotApplied, "the stack is planned, but not applied yet")
}

func ofSuspended(o *unstructured.Unstructured) Readiness {
	return waiting(ReasonSuspended, "spec.suspend is true; resume it with yuba resume %s -n %s", o.GetName(), o.GetNamespace())
}

// applied reports whether the stack's resources exist: it was applied (tofu-controller writes one
// of the two fields), or its plan had no changes, and its outputs are written.
func applied(o *unstructured.Unstructured, plan condition) bool {
	if text(o.Object, "status", "lastAppliedRevision") != "" || some(o.Object, "status", "inventory", "entries") {
		return true
	}
	return plan.status == "False" && plan.reason == infrav1.ReasonPlannedNoChanges &&
		(field(o.Object, "spec", "writeOutputsToSecret") == nil || text(o.Object, "status", "outputsDigest") != "")
}
