// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// HeldBecause says why the plan of a stack that applies its plans automatically is held.
func HeldBecause(t *infrav1.Terraform) string {
	if by := t.Status.Plan.HeldBy; by != "" {
		return "for approval by circuit breaker " + by
	}
	if t.HeldByPolicy() {
		return "for approval by policy (" + t.Status.Plan.Policy.Message + ")"
	}
	if t.Status.TakenOver == nil && t.BreaksContracts() {
		return "for approval because it breaks contract " + brokenContracts(t)
	}
	return "for approval because the state is that of " + t.Namespace + "/" + t.Status.TakenOver.Name + ", which was deleted"
}

// PendingIs says what the pending plan is waiting for.
func PendingIs(t *infrav1.Terraform) string {
	switch p := t.Status.Plan; {
	case p.Approved:
		return "is approved"
	case t.Annotations[infrav1.AnnotationRejected] == p.Pending:
		return "is rejected"
	case t.Spec.PlanOnly && !p.IsDeletionPlan:
		return "is never applied (planOnly)"
	case t.DriftOnly() && !p.IsDeletionPlan:
		return "is never applied (approvePlan: disable)"
	case t.RefusedByPolicy():
		return "is refused by policy (" + t.Status.Plan.Policy.Message + ")"
	case t.HoldsPlans():
		return "is held " + HeldBecause(t)
	}
	return "waits for approval"
}

// brokenContracts names the contracts that the pending plan breaks.
func brokenContracts(t *infrav1.Terraform) string {
	var names []string
	for _, v := range t.Status.Plan.Contracts.Verdicts {
		if v.Outcome == infrav1.ContractBreaks {
			names = append(names, v.Contract)
		}
	}
	return strings.Join(names, ", ")
}

var decisions = map[string]string{
	"rest": "nothing to do", "await-run": "a run is in progress", "await-approval": "a plan waits for approval", "wait": "waiting",
	"fail": "cannot continue", "plan": "needs a plan", "plan-and-apply": "needs a plan and an apply", "apply": "needs an apply",
	"cancel": "a run is to be cancelled", "release": "the object can be deleted", "unlock": "a lock is to be released",
}

// InWords is the verb of a decision of the controller in words.
func InWords(verb string) string {
	if words, ok := decisions[verb]; ok {
		return words
	}
	return verb
}
