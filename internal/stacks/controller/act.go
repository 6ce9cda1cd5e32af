// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// act writes outputs and other results of runs, and drafts the run to start.
func (r *Reconciler) act(ctx context.Context, d *decided) (*acted, error) {
	p := &acted{decided: *d}
	if err := r.follow(ctx, p); err != nil {
		return nil, err
	}
	switch p.decision.Verb {
	case decide.VerbPlan, decide.VerbPlanAndApply, decide.VerbApply:
		return p, runDraftsOf(r).describeRun(ctx, p)
	case decide.VerbRelease:
		p.tellWhatStays()
	case decide.VerbUnlock:
		return p, stateLocksOf(r).unlock(ctx, p)
	case decide.VerbJudge:
		return p, judgeOf(r).judge(ctx, p)
	}
	return p, nil
}

// describeRun describes the run to start, and names it in the status if it is announced.
func (w runDrafts) describeRun(ctx context.Context, p *acted) error {
	rec, err := w.newRecord(ctx, &p.decided)
	if err != nil {
		return err
	}
	p.run = rec
	if rec.Announced {
		p.obj.Status.CurrentRun = queued(rec)
		p.obj.Status.LastAttemptedRevision = rec.Spec.Artifact.Revision
	}
	return nil
}

// queued is the status's reference to a run before it begins.
func queued(rec *run.Record) *infrav1.RunReference {
	started := metav1.NewTime(rec.Created)
	return &infrav1.RunReference{ID: rec.Spec.ID, Operation: string(rec.Spec.Operation), Status: "queued", StartedAt: &started}
}

// newRecord describes the run that a decision requires.
func (w runDrafts) newRecord(ctx context.Context, p *decided) (*run.Record, error) {
	d := p.decision
	var err error
	rec := &run.Record{Created: p.now.UTC(), Trigger: d.Message, Token: run.NewToken(), UsedKept: d.UseKept, Config: p.facts.Config, Generation: p.obj.Generation}
	if p.config != nil {
		rec.WholeConfig, rec.SettledConfig = p.config.Whole, p.config.Settled
		rec.Inputs = p.config.Inputs()
	}
	switch {
	case d.Verb == decide.VerbApply && d.Purpose == decide.PurposeDelete:
		// With the very inputs of the plan, which may be kept ones.
		planned, err := w.runs.Record(ctx, p.stack, p.obj.Status.Plan.RunID)
		if err != nil {
			return nil, fmt.Errorf("read the run that planned the destruction of %s. For another plan, run `yuba replan %s`: %w", p.stack, p.facts.Stack.Call, err)
		}
		rec.Spec, rec.State, rec.UsedKept = planned.Spec, planned.State, planned.UsedKept
		rec.Spec.Plan, rec.Spec.Unless, rec.Spec.Review, rec.Spec.ReviewInit, rec.Spec.Limits = nil, "", false, false, w.limitsFor(p.obj)
	case d.UseKept:
		kept, err := w.runs.Record(ctx, p.stack, p.obj.Status.LastAppliedRun)
		if err != nil {
			return nil, fmt.Errorf("read the last applied inputs: %w", err)
		}
		if kept.Spec.Backend.Kind == "" {
			return nil, fmt.Errorf("use the last applied inputs of %s: run %s used another state, so its inputs were not imported. Repair the source of the stack, or restore its former workspace and backend",
				p.stack, kept.Spec.ID)
		}
		rec.Spec, rec.State = kept.Spec, kept.State
		rec.Spec.Plan, rec.Spec.Unless = nil, ""
		// An imported record has no limits, and none may outlive those of the server.
		rec.Spec.Limits, rec.Spec.Origin = w.limitsFor(p.obj), string(p.obj.Status.OriginUID)
	default:
		if rec.Spec, err = w.spec(ctx, &p.gathered); err != nil {
			return nil, err
		}
		rec.State = stateRefOf(p.obj)
	}
	if p.consumed != nil && !d.UseKept {
		rec.Pins = p.consumed.Pins
	}
	rec.State.Existing, rec.State.Scope = p.obj.Status.LastAppliedRevision != "", scope.Of(p.obj.Labels)
	s := &rec.Spec
	s.Protocol, s.ID = run.ProtocolVersion, run.NewID(p.now)
	s.Purpose, s.Destroy, s.Describe = run.Purpose(d.Purpose), d.Destroy, d.Describe
	switch d.Verb {
	case decide.VerbPlan:
		s.Operation = run.OperationPlan
	case decide.VerbPlanAndApply:
		s.Operation = run.OperationPlanAndApply
	case decide.VerbApply:
		s.Operation = run.OperationApply
		// Apply with the providers that the plan was made with.
		s.Upgrade = false
		s.Plan = &run.PlanRef{ID: d.Subject, RunID: p.obj.Status.Plan.RunID, Digest: p.obj.Status.Plan.Digest}
		if d.Purpose != decide.PurposeDelete {
			if err := w.asPlanned(ctx, &p.gathered, s); err != nil {
				return nil, err
			}
		}
	}
	// A drift check is not announced: it is recorded if it finds something.
	rec.Quiet, rec.HeldBy = d.Reason == decide.ReasonDriftDue, d.Hold
	rec.Announced = !rec.Quiet
	if rec.Place, err = placeOf(p.rules, p.obj, rec.Spec.ID); err != nil {
		return nil, err
	}
	rec.Urgency = urgencyOf(d)
	s.Upgrade = s.Upgrade && rec.Announced
	if d.Reason == decide.ReasonModulesMayMove {
		s.Unless = p.obj.Status.Modules.Placed
	}
	askFor(s, p.obj, rec.Announced)
	askForPolicies(s, p.facts.Policy)
	askForContracts(s, p.obj, p.facts.Contracts)
	rec.Policies = p.facts.Policy.Set
	s.Direct = direct(p.obj, s)
	// An apply does not break locks.
	if s.ForceUnlock = lockToBreak(p.obj); d.Verb == decide.VerbApply {
		s.ForceUnlock = ""
	}
	s.LockFile, err = w.runs.LockFile(ctx, p.stack)
	return rec, err
}

// direct reports whether a run may plan and apply at once: nothing was applied, and there is no
// review.
func direct(obj *infrav1.Terraform, s *run.Spec) bool {
	return s.Operation == run.OperationPlanAndApply && s.Purpose == run.PurposeDeploy && !s.Destroy && !s.Describe && !s.Review &&
		s.Backend.Kind == run.BackendManaged && obj.Status.LastAppliedRevision == "" && obj.Status.LastAppliedRun == ""
}

// urgencyOf derives the urgency from the reason for the run.
func urgencyOf(d decide.Decision) run.Urgency {
	switch {
	case d.Purpose == decide.PurposeDelete:
		return run.UrgencyAwaited
	case d.Reason == decide.ReasonDriftDue:
		return run.UrgencyDrift
	case d.Reason == decide.ReasonRequested, d.Reason == decide.ReasonApproved, d.Reason == decide.ReasonForceUnlock:
		return run.UrgencyAwaited
	}
	return run.UrgencyChange
}

func (w runDrafts) limitsFor(obj *infrav1.Terraform) run.Limits {
	limits := w.limits
	limits.Grace = run.Duration(obj.GetGracePeriod())
	return limits
}

func (w runDrafts) spec(ctx context.Context, p *gathered) (run.Spec, error) {
	obj := p.obj
	s := run.Spec{Stack: p.stack, Origin: string(obj.Status.OriginUID), Path: reads.CleanDir(obj.Spec.Path), Workspace: obj.WorkspaceName(),
		Targets: obj.Spec.Targets, Parallelism: obj.Spec.Parallelism, RefreshOnApply: obj.Spec.RefreshBeforeApply,
		Limits: w.limitsFor(obj),
		// Upgrade providers after a change of program or object, or on request.
		Upgrade: obj.UpgradesOnInit() && (obj.Status.LastPlannedRevision != p.facts.Source.Revision ||
			obj.Status.LastPlannedGeneration != obj.Generation || p.facts.Stack.Requested != p.facts.Stack.Handled),
		ReadOutputs: obj.KeepsOwnState() || p.config.Encrypts()}
	p.config.Into(&s)
	var err error
	if t := obj.Spec.Tool; t != nil {
		s.Tool = run.Tool{Name: t.Name, Version: t.Version}
	} else if w.pinned != nil {
		s.Tool, err = w.pinned(ctx, obj.Namespace)
	}
	return s, err
}

func stateLabels(obj *infrav1.Terraform) map[string]string {
	if obj.Spec.BackendConfig == nil {
		return nil
	}
	return obj.Spec.BackendConfig.Labels
}

// stateRefOf returns where a run finds the stack's state.
func stateRefOf(obj *infrav1.Terraform) run.StateRef {
	return run.StateRef{Namespace: obj.Namespace, Workspace: obj.WorkspaceName(), Suffix: obj.StateSuffix(), Labels: stateLabels(obj),
		Stack: obj.Name, Existing: obj.Status.LastAppliedRevision != "", Scope: scope.Of(obj.Labels)}
}
