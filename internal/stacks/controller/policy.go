// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// Policies is the part of policies that the controller uses.
type Policies interface {
	// Bind identifies the policies that judge a stack's plans, and their contents; empty if there are
	// none. It does not block; an error means that the policies are not known.
	Bind(ctx context.Context, obj *infrav1.Terraform) (set string, err error)
	// Judge judges a plan by those policies. The document is `tofu show -json` of the plan without
	// sensitive values; nil if it is not stored. What a rule cannot find out is an objection, not an error.
	Judge(ctx context.Context, obj *infrav1.Terraform, rec run.Record, document []byte) (*infrav1.PolicyVerdict, error)
	// BeforePlan judges the configuration of a stack by the policies that do so before the plan, if
	// there are any: asked. declared reads it. Remote modules are not judged.
	BeforePlan(ctx context.Context, obj *infrav1.Terraform, config string, declared func(context.Context) (*reads.Declared, error)) (asked bool, refused Refusal, err error)
	// AfterInit judges it by the same policies in the run, with all modules.
	AfterInit(ctx context.Context, obj *infrav1.Terraform, rec run.Record, installed *run.Installed) (refused Refusal, err error)
	// Applying records that the apply of a run is permitted, if policies bind the stack. It is called
	// again for a run that asks again.
	Applying(ctx context.Context, obj *infrav1.Terraform, rec run.Record) error
}

// Refusal says why policies refuse a configuration; the zero value if they do not.
type Refusal struct {
	Message string
	// Until is when they may say something else, although nothing changed; zero for never.
	Until time.Time
}

// ErrPoliciesBusy means that policies judge other plans: the pass ends, and the next one asks again.
var ErrPoliciesBusy = errors.New("the policies are judging other plans; try again in a moment")

// policiesPause is how soon a stack that policies had no time for is reconciled again.
const policiesPause = 500 * time.Millisecond

type patient struct{}

// Patiently marks a context of a run, which waits until policies have time. A reconcile does not.
func Patiently(ctx context.Context) context.Context { return context.WithValue(ctx, patient{}, true) }

// IsPatient reports whether the caller waits until policies have time.
func IsPatient(ctx context.Context) bool { return ctx.Value(patient{}) != nil }

// recordApply records that an apply is permitted, before it is.
func (j policyJudge) recordApply(ctx context.Context, obj *infrav1.Terraform, rec run.Record) error {
	if j.policies == nil || rec.Spec.Operation.ByHand() {
		return nil
	}
	return j.policies.Applying(ctx, obj, rec)
}

// gatherPolicy finds out which policies bind the stack.
func (j policyJudge) gatherPolicy(ctx context.Context, p *gathered) error {
	if j.policies == nil {
		return nil
	}
	set, err := j.policies.Bind(ctx, p.obj)
	p.facts.Policy = decide.Policy{Served: true, Bound: set != "" || err != nil, Set: set}
	if err != nil {
		p.facts.Policy.Problem = err.Error()
	}
	if err != nil || set == "" {
		return nil
	}
	if p.config == nil {
		// A deletion may use the inputs of the last apply: only the run can tell.
		p.facts.Policy.InRun = true
		return nil
	}
	var refused Refusal
	p.facts.Policy.InRun, refused, err = j.policies.BeforePlan(ctx, p.obj, p.config.Digest, func(ctx context.Context) (*reads.Declared, error) {
		return j.source.Declared(ctx, p.obj, p.config)
	})
	if err != nil {
		return fmt.Errorf("judge the configuration of %s by policies: %w", p.stack, err)
	}
	p.facts.Policy.Refused, p.facts.Policy.RefusedUntil = refused.Message, refused.Until
	return nil
}

// Inspect asks whether a run may go on after its init: the policies judge its configuration.
func (r *Reconciler) Inspect(ctx context.Context, rec run.Record, installed *run.Installed) (goOn bool, refused Refusal, err error) {
	if rec.Spec.Speculative() { // it has a name of its own
		rec.Spec.Stack.Name, _, _ = strings.Cut(rec.Spec.Stack.Name, speculative.Mark)
		rec.Spec.Stack.UID, _, _ = strings.Cut(rec.Spec.Stack.UID, speculative.Mark)
	}
	obj, no, err := r.stackOf(ctx, rec)
	if obj == nil || err != nil {
		return false, Refusal{Message: no}, err
	}
	if r.Policies == nil {
		return true, Refusal{}, nil
	}
	refused, err = r.Policies.AfterInit(ctx, obj, rec, installed)
	if err != nil || refused.Message == "" {
		return err == nil, Refusal{}, err
	}
	refused.Message = "Refused before planning: " + refused.Message
	return false, refused, nil
}

var opinions = map[infrav1.PolicyDecision]decide.Opinion{
	infrav1.PolicyFreed: decide.OpinionFreed, infrav1.PolicyPassed: decide.OpinionPassed, infrav1.PolicyApproved: decide.OpinionApproved,
	infrav1.PolicyHeld: decide.OpinionHeld, infrav1.PolicyRefused: decide.OpinionRefused,
}

// verdictFacts is nil unless the policies have judged the very bytes of the pending plan, with all of
// its approvals.
func verdictFacts(obj *infrav1.Terraform) *decide.Verdict {
	if v := obj.Status.Plan.Policy; v == nil || int(v.ApprovalsSeen) != len(obj.Status.Plan.Approvals) {
		return nil
	}
	return verdictOf(obj)
}

// verdictOf is nil unless the policies have judged the very bytes of the pending plan.
func verdictOf(obj *infrav1.Terraform) *decide.Verdict {
	v := obj.Status.Plan.Policy
	if v == nil || v.Plan != obj.Status.Plan.Digest || opinions[v.Decision] == "" {
		return nil
	}
	facts := &decide.Verdict{Opinion: opinions[v.Decision], Message: v.Message, Set: v.Set, NeedsPlan: v.NeedsPlan, Recorded: v.NeedsRecordedApprovals}
	if v.Until != nil {
		facts.Until = v.Until.Time
	}
	return facts
}

// askForPolicies asks a run for what policies judge. A plan that is described anyway, as a person is to approve
// it, also has the document: a policy that comes later judges it without another plan.
func askForPolicies(s *run.Spec, policy decide.Policy) {
	if !policy.Bound {
		s.PlanDocument = s.PlanDocument || s.Describe && policy.Served
		return
	}
	s.Describe, s.PlanDocument = true, true
	s.ReviewInit = policy.InRun && s.Operation != run.OperationApply
}

// judge asks contracts, and then the policies, about the pending plan.
func (j policyJudge) judge(ctx context.Context, p *acted) error {
	plan := &p.obj.Status.Plan
	if c := p.facts.Contracts; c.Bound && c.Problem == "" && !plan.IsDeletionPlan {
		if v := contractFacts(p.obj); v == nil || v.Set != c.Set {
			if err := j.book.judge(ctx, p); err != nil {
				return err
			}
		}
	}
	if j.policies == nil || !p.facts.Policy.Bound || p.facts.Policy.Problem != "" {
		return nil
	}
	rec, err := j.runs.Record(ctx, p.stack, plan.RunID)
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return fmt.Errorf("read the run that made plan %s of %s: %w", plan.Pending, p.stack, err)
	}
	rec.Spec.Stack = p.stack // also of a run that is not stored
	document, err := j.runs.ReadPart(ctx, p.stack, plan.RunID, run.BlobPlanShow)
	missing, before := errors.Is(err, run.ErrNotFound), plan.Policy
	if err != nil && !missing {
		return fmt.Errorf("read plan %s of %s: %w", plan.Pending, p.stack, err)
	}
	verdict, err := j.policies.Judge(ctx, p.obj, rec, document)
	if err != nil { // the next pass compares with the same verdict
		return fmt.Errorf("judge plan %s of %s by policies: %w", plan.Pending, p.stack, err)
	}
	plan.Policy = verdict
	// Another plan is only worth its time if policies object to this one.
	objects := plan.Policy.Decision == infrav1.PolicyHeld || plan.Policy.Decision == infrav1.PolicyRefused
	plan.Policy.NeedsPlan = missing && objects && !rec.Spec.PlanDocument
	plan.Policy.Set, plan.Policy.Plan, plan.Policy.JudgedAt = p.facts.Policy.Set, plan.Digest, metav1.NewTime(p.now)
	plan.Policy.ApprovalsSeen = int32(len(plan.Approvals)) //nolint:gosec // at most 50
	renameUnseen(p.obj, rec, before)
	return nil
}

// describeUnbound says that no policy frees the pending plan of a stack that leaves that to
// policies.
func describeUnbound(p *gathered) {
	plan := &p.obj.Status.Plan
	switch {
	case p.facts.Policy.Bound || plan.Pending == "":
	case !p.obj.ByPolicy():
		plan.Policy = nil // of policies that are gone
	case plan.Policy == nil || plan.Policy.Set != "" || plan.Policy.Plan != plan.Digest:
		plan.Policy = &infrav1.PolicyVerdict{Decision: infrav1.PolicyPassed, Message: "no policy selects the stack",
			Plan: plan.Digest, JudgedAt: metav1.NewTime(p.now)}
	}
}

// policyObjection says why policies forbid an apply that is about to begin; empty if they do not.
// It asks for the policies once more: one may have been added since the decision.
func (j policyJudge) policyObjection(ctx context.Context, obj *infrav1.Terraform, rec run.Record) string {
	if rec.Spec.Operation.ByHand() {
		return ""
	}
	var set string
	if j.policies != nil {
		var err error
		if set, err = j.policies.Bind(ctx, obj); err != nil {
			return "its policies are not known: " + err.Error()
		}
	}
	named := rec.Spec.Plan != nil && (obj.Spec.ApprovePlan == rec.Spec.Plan.ID || approvedByName(obj) == rec.Spec.Plan.ID)
	// Who deletes a stack with its resources asks for their destruction.
	leftToPolicies := obj.ByPolicy() && !obj.Spec.Force && !named && rec.Spec.Purpose != run.PurposeDelete
	switch v := verdictOf(obj); {
	case set == "" && !leftToPolicies:
		return ""
	case set == "":
		return "no policy frees the plan, and its approval was withdrawn"
	case rec.Spec.Plan == nil:
		return "a policy binds the stack since the run began"
	case v == nil || v.Set != set || rec.Spec.Plan.Digest != obj.Status.Plan.Digest || !v.Until.IsZero() && !j.now().Before(v.Until):
		return "its policies have changed since they judged the plan"
	case v.Opinion == decide.OpinionRefused:
		return "policies refuse the plan: " + v.Message
	case v.Opinion == decide.OpinionHeld && (!named || v.Recorded), v.Opinion == decide.OpinionPassed && leftToPolicies:
		return "policies do not free the plan, and its approval was withdrawn: " + v.Message
	}
	return ""
}
