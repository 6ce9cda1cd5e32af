// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// fact is something about a stack.
type fact struct {
	Label, Text string
	// Link leads to more; empty for nothing. At is when it was.
	Link string
	At   any
}

// factsOf says what a stack is, and what was done last.
func factsOf(t *infrav1.Terraform) []fact {
	key := client.ObjectKeyFromObject(t)
	facts := []fact{{Label: "Program", Text: programOf(t)}}
	more := func(label, text, link string, at any) {
		if text != "" {
			facts = append(facts, fact{label, text, link, at})
		}
	}
	if namespace, by := standing.AppliedBy(t.Namespace, t.Labels); by != "" {
		more("Applied by", "Kustomization "+namespace+"/"+by, site.Path("sources", "kustomization", namespace, by), nil)
	}
	s := &t.Status
	if s.LastAttemptedRevision != "" {
		applied := "never applied"
		switch {
		case s.LastAppliedRevision == s.LastAttemptedRevision:
			applied = "applied"
		case s.LastAppliedRevision != "":
			applied = "last applied " + shorten.Revision(s.LastAppliedRevision)
		}
		more("Revision", shorten.Revision(s.LastAttemptedRevision)+" ("+applied+")", "", nil)
	}
	more("Approval", approvalOf(t), "", nil)
	switch p := s.Plan; {
	case p.Pending != "":
		kind := ""
		if p.IsDestroyPlan {
			kind = ", destroys everything"
		} else if p.IsDriftDetectionPlan {
			kind = ", repairs drift"
		}
		more("Plan", p.Pending+" "+verbs.PendingIs(t)+": "+p.Summary+kind, address(key, "plan"), s.LastPlanAt)
	case p.LastApplied != "":
		more("Plan", "none is pending; "+p.LastApplied+" was applied last", address(key, "plan"), nil)
	}
	runFact(key, "Run", s.CurrentRun, more)
	runFact(key, "Last failed apply", s.LastFailedApply, more)
	runFact(key, "Last run", s.LastRun, more)
	if w := t.WorkspaceName(); w != infrav1.DefaultWorkspace {
		more("Workspace", w, "", nil)
	}
	if s.LastDriftDetectedAt != nil {
		more("Drift", "found", "", s.LastDriftDetectedAt)
	}
	if s.Lock.Pending != "" {
		more("Lock", "held by another process, lock id "+s.Lock.Pending, "", nil)
	}
	if from := s.TakenOver; from != nil {
		more("State", "that of "+t.Namespace+"/"+from.Name+", which was deleted; this stack owns it after a plan is approved or finds no changes", address(key, "states"), from.DeletedAt)
	}
	return facts
}

func runFact(key client.ObjectKey, label string, r *infrav1.RunReference, more func(label, text, link string, at any)) {
	if r == nil {
		return
	}
	at := r.FinishedAt
	if at == nil {
		at = r.StartedAt
	}
	more(label, r.Operation+" "+r.Status, address(key, "runs", r.ID), at)
}

// programOf says where the program is.
func programOf(t *infrav1.Terraform) string {
	if _, inline := t.InlineProgram(); inline {
		return "in the object itself"
	}
	if t.Spec.SourceRef == nil {
		return "not given"
	}
	text := t.Spec.SourceRef.String()
	if path := strings.Trim(strings.TrimPrefix(t.Spec.Path, "./"), "/"); path != "" {
		text += ", directory " + path
	}
	return text
}

// approvalOf says who decides about plans.
func approvalOf(t *infrav1.Terraform) string {
	switch {
	case t.Spec.PlanOnly:
		return "plans are made and never applied (planOnly)"
	case t.DriftOnly():
		return `drift is detected and nothing is applied (approvePlan: "disable")`
	case t.AutoApproves():
		return `plans are applied without approval (approvePlan: "auto")`
	case t.ByPolicy():
		return `policies decide which plans need approval (approvePlan: "policy")`
	}
	return "each plan waits for approval"
}
