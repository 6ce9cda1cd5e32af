// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	verdicts "github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// recordDecision records what policies decided before anybody acts on it.
func (p *policies) recordDecision(ctx context.Context, obj *infrav1.Terraform, rec run.Record, about verdicts.Bound, d verdicts.Decision, v *infrav1.PolicyVerdict) error {
	r := p.event(obj, audit.KindDecision)
	r.Run, r.Purpose, r.Bound, r.BoundDigest = rec.Spec.ID, string(rec.Spec.Purpose), &about, about.Hash()
	r.Plan = obj.Status.Plan.Pending
	r.Verdict, r.Reason, r.Message, r.Approvers = string(v.Decision), d.Reason, v.Message, d.Approvers
	for _, f := range v.Findings[:min(len(v.Findings), audit.MaxFindings)] {
		r.Findings = append(r.Findings, audit.Finding(f))
	}
	r.FindingsOmitted = len(d.Violations) + len(d.Audited) - len(r.Findings)
	head, err := p.ledger.Append(ctx, r)
	v.AuditRecord = head.String()
	return err
}

func (p *policies) event(obj *infrav1.Terraform, kind audit.Kind) audit.Record {
	return audit.Record{Namespace: obj.Namespace, Stack: obj.Name, UID: string(obj.UID), At: p.now(), Kind: kind}
}

// Applying implements [stacks.Policies].
func (p *policies) Applying(ctx context.Context, obj *infrav1.Terraform, rec run.Record) error {
	binding, err := p.judge.Bind(ctx, subjectOf(obj))
	if err != nil || binding.Set == "" {
		return err
	}
	r := p.event(obj, audit.KindApply)
	r.Run, r.Purpose = rec.Spec.ID, string(rec.Spec.Purpose)
	r.Plan = obj.Status.Plan.Pending
	if v := obj.Status.Plan.Policy; v != nil {
		r.BoundDigest, r.Verdict, r.Message = v.Bound, string(v.Decision), v.Message
		if v.Decision == infrav1.PolicyHeld || v.Decision == infrav1.PolicyPassed {
			r.Message = "approved in the object, which does not say by whom: " + v.Message
			if obj.AutoApproves() && v.Decision == infrav1.PolicyPassed {
				r.Message = `approved by approvePlan "auto"`
			}
			if rec.Spec.Purpose == run.PurposeDelete && v.Decision == infrav1.PolicyPassed {
				r.Message = "the stack is deleted with its resources, and no policy objects"
			}
		}
		for _, a := range obj.Status.Plan.Approvals {
			if a.Bound == v.Bound {
				r.Approvers = append(r.Approvers, a.User)
			}
		}
	}
	_, err = p.ledger.Append(ctx, r)
	return err
}

// maxApprovals limits the approvals of a plan. It is that of the field.
const maxApprovals = 50

// Approve records a person's approval of the pending plan, and then puts it into the status, which
// reconciles the stack. An approval that is there already is returned.
func (p *policies) Approve(ctx context.Context, name client.ObjectKey, who audit.Who, plan, bound string) (infrav1.PlanApproval, error) {
	var given infrav1.PlanApproval
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var obj infrav1.Terraform
		if err := p.direct.Get(ctx, name, &obj); err != nil {
			return err
		}
		if message := whyNotApprove(&obj, plan, bound); message != "" {
			return &run.RefusedError{Message: fmt.Sprintf("approve %s: %s", name, message)}
		}
		v := obj.Status.Plan.Policy
		for _, a := range obj.Status.Plan.Approvals {
			if a.User == who.User && a.Bound == v.Bound {
				given = a
				return nil
			}
		}
		binding, err := p.judge.Bind(ctx, subjectOf(&obj))
		if err != nil {
			return err
		}
		asked := binding.Groups()
		for _, owners := range v.Owners {
			asked = append(asked, owners.Groups...)
		}
		given = infrav1.PlanApproval{User: who.User, Impersonator: who.Impersonator, Bound: v.Bound, At: metav1.NewTime(p.now().Truncate(time.Second))}
		for _, g := range who.Groups {
			if slices.Contains(asked, g) {
				given.Groups = append(given.Groups, g)
			}
		}
		r := p.event(&obj, audit.KindApproval)
		r.Who, r.Plan, r.Run, r.BoundDigest = who, plan, obj.Status.Plan.RunID, v.Bound
		r.Who.Groups = who.Groups[:min(len(who.Groups), audit.MaxGroups)]
		if _, err := p.ledger.Append(ctx, r); err != nil {
			return err
		}
		before := obj.DeepCopy()
		// Approvals of what was judged before do not count any more.
		obj.Status.Plan.Approvals = append(slices.DeleteFunc(obj.Status.Plan.Approvals, func(a infrav1.PlanApproval) bool { return a.Bound != v.Bound }), given)
		return p.direct.Status().Patch(ctx, &obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	return given, err
}

// whyNotApprove says why the plan cannot be approved now; empty if it can.
func whyNotApprove(obj *infrav1.Terraform, plan, bound string) string {
	s, v := &obj.Status.Plan, obj.Status.Plan.Policy
	switch {
	case s.Pending == "":
		return "no plan waits for approval"
	case plan != s.Pending:
		return fmt.Sprintf("plan %q is not pending; the pending plan is %s", plan, s.Pending)
	case obj.Annotations[infrav1.AnnotationRejected] == s.Pending:
		return fmt.Sprintf("plan %s was rejected", s.Pending)
	case v == nil || v.Bound == "" || v.Plan != s.Digest:
		return fmt.Sprintf("no policy has judged plan %s (yet). Where policies ask for nobody's approval, name the plan in spec.approvePlan", s.Pending)
	case v.Decision == infrav1.PolicyRefused:
		return fmt.Sprintf("policies refuse plan %s, and no approval overrides that: %s", s.Pending, v.Message)
	case bound != v.Bound:
		return fmt.Sprintf("plan %s was judged anew since you looked at it: review it again", s.Pending)
	case s.Approved:
		return fmt.Sprintf("plan %s is being applied", s.Pending)
	case len(s.Approvals) >= maxApprovals:
		return fmt.Sprintf("plan %s has %d approvals already", s.Pending, len(s.Approvals))
	}
	return ""
}

// approvalsOf are the recorded approvals of the pending plan.
func approvalsOf(obj *infrav1.Terraform) (all []verdicts.Approval) {
	for _, a := range obj.Status.Plan.Approvals {
		all = append(all, verdicts.Approval{User: a.User, Groups: a.Groups, Bound: a.Bound, At: a.At.Time})
	}
	return all
}

// waitingFor adds to a message whose approvals are missing.
func waitingFor(d verdicts.Decision) string {
	return d.Message + ". It waits for " + strings.TrimSuffix(d.WaitsFor, ".") + ", given with `yuba approve`"
}

// continueAudit records that the stack came from another home, and where its earlier records are. A stack
// that comes back, or is restored, has them here.
func (e *engine) continueAudit(ctx context.Context, obj *infrav1.Terraform, who audit.Who, origin audit.Origin) error {
	chain, err := e.auditLog.Chain(ctx, obj.Namespace, obj.Name)
	if err != nil {
		return err
	}
	for _, entry := range chain.Items {
		if r, err := entry.Decode(); err == nil && (r.Number == origin.Number && entry.Digest == origin.Digest || r.Origin != nil && *r.Origin == origin) {
			return nil
		}
	}
	_, err = e.auditLog.Append(ctx, audit.Record{Namespace: obj.Namespace, Stack: obj.Name, UID: string(obj.UID), At: time.Now(), Kind: audit.KindMoved, Who: who, Origin: &origin,
		Message: fmt.Sprintf("the earlier records are in the log of %s, which ended with record %s", origin.Server, origin.Head)})
	return err
}

// servePolicies serves approvals and the audit log.
func (e *engine) servePolicies() {
	e.content.AuditLog, e.content.ContinueAudit = e.auditLog, e.continueAudit
	if e.policies != nil {
		e.content.Approve = e.policies.Approve
	}
}
