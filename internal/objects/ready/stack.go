// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// ofStack: the condition Ready is also true of a stack whose plan found nothing to do, so that what was applied is asked for,
// too; there are no outputs before. A stack that is to be destroyed is ready when that is done.
func ofStack(o *unstructured.Unstructured) Readiness {
	all, _ := conditionsOf(o)
	c, told := all[infrav1.ConditionReady]
	suspended := truth(o.Object, "spec", "suspend") && c.status != statusTrue
	if !statusObserved(o, true) || !observed(o, c.generation, c.generation != 0) {
		if truth(o.Object, "spec", "suspend") {
			return ofSuspended(o) // nobody looks at it, and waiting for that would have no end
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
	return waiting(ReasonNotApplied, "the stack is planned, and was not applied yet")
}

func ofSuspended(o *unstructured.Unstructured) Readiness {
	return waiting(ReasonSuspended, "spec.suspend is true; go on with yuba resume %s -n %s", o.GetName(), o.GetNamespace())
}

// applied tells whether what the stack manages was made: something was applied (controllers before ours wrote one of the two),
// or a plan found that there was nothing to, as where a state was there before the stack, and its outputs were read and written if
// they are to be.
func applied(o *unstructured.Unstructured, plan condition) bool {
	if text(o.Object, "status", "lastAppliedRevision") != "" || some(o.Object, "status", "inventory", "entries") {
		return true
	}
	return plan.status == "False" && plan.reason == infrav1.ReasonPlannedNoChanges &&
		(field(o.Object, "spec", "writeOutputsToSecret") == nil || text(o.Object, "status", "outputsDigest") != "")
}
