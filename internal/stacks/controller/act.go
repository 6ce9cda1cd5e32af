// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// collect takes over the runs that ended since the last pass, and takes up a run that an earlier server left.
func (r *Reconciler) collect(ctx context.Context, p *pass) error {
	if ref := p.obj.Status.CurrentRun; ref != nil {
		rec, err := r.Runs.Resume(ctx, p.stack, ref.ID)
		switch {
		case errors.Is(err, run.ErrNotFound) && ref.Status == "applying":
			return r.takeDamaged(ctx, p, ref, err)
		case errors.Is(err, run.ErrNotFound):
			// The server ended between naming the run and putting it on record.
			p.obj.Status.CurrentRun = nil
			r.Log.Info("a run never began", "stack", p.stack.String(), "run", ref.ID)
		case errors.Is(err, run.ErrDamaged):
			return r.takeDamaged(ctx, p, ref, err)
		case err != nil:
			return err
		case rec.Result != nil:
			r.take(ctx, p, rec)
			p.taken, p.over = rec.Spec.ID, &rec
		}
		return nil
	}
	rec, ok := r.Runs.TakeEnded(p.stack)
	if !ok {
		return nil
	}
	if worthRecording(p.obj, rec) {
		r.take(ctx, p, rec)
	} else {
		leaveTrace(p.obj, rec)
	}
	p.taken, p.over = rec.Spec.ID, &rec
	return nil
}

// takeDamaged gives up a run whose record is lost: what it did is in the state, and a fresh plan will tell. Its lock is its
// own id's, so nobody else's is released, and held until what the run may have left is on record.
func (r *Reconciler) takeDamaged(ctx context.Context, p *pass, ref *infrav1.RunReference, cause error) error {
	known := p.known(ref)
	known.Result = &run.Result{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Finished: p.now, Error: fmt.Sprintf(
		"The outcome of run %s is unknown: %s. A fresh plan comes before anything is applied.", ref.ID, cause),
		ApplyStarted: known.Spec.Operation == run.OperationApply || known.Spec.Operation == run.OperationPlanAndApply}
	rec, err := r.Runs.Salvage(ctx, known)
	if err != nil {
		return err
	}
	if !p.obj.KeepsOwnState() {
		var others *state.LockedError
		if err := r.States.Unlock(ctx, stateKeyOf(p.obj), ref.ID); err != nil && !errors.As(err, &others) {
			return err
		}
	}
	r.take(ctx, p, rec)
	p.taken = ref.ID
	return nil
}

// worthRecording: a pass that found what is known already says nothing new, be it no changes on a stack that has none
// or the very changes that a pending plan makes.
func worthRecording(obj *infrav1.Terraform, rec run.Record) bool {
	status, result := &obj.Status, rec.Result
	if result.Outcome == run.OutcomeCanceled {
		return false
	}
	if result.Outcome != run.OutcomeSucceeded || result.Plan == nil || !about(rec, status.ConfigDigest) {
		return true
	}
	if result.Plan.Changes {
		return status.Plan.Pending == "" || result.Plan.ChangesDigest != status.Plan.ChangesDigest
	}
	if result.Resources != nil && obj.Status.Inventory == nil {
		return true
	}
	ready := conditions.Of(obj, infrav1.ConditionReady)
	return status.Plan.Pending != "" || ready.Status != metav1.ConditionTrue && !heldByHealth(ready)
}

func (r *Reconciler) take(ctx context.Context, p *pass, rec run.Record) {
	if rec.Spec.Operation.ByHand() {
		takeByHand(p, rec)
		p.moved = mayHaveMoved(rec)
		return
	}
	o := outcome{rec: rec}
	if result := rec.Result; result.Plan != nil && result.Plan.Changes && !result.Applied && rec.Spec.Describe {
		o.planText = r.planText(ctx, p, rec)
	}
	record(p.obj, o)
	if listsUnproven(rec.Result) {
		p.notes = append(p.notes, note{warning: true, reason: infrav1.ReasonApplyCutOff, action: "Apply", message: unprovenMessage(p.obj)})
	}
	if drifted(rec) && rec.Result.Applied {
		p.notes = append(p.notes, note{warning: true, reason: infrav1.ReasonDriftDetected, action: "Repair", message: repaired(rec.Result.Plan)})
	}
	if !rec.Result.SameModules { // which changed nothing that is told
		p.ended = &rec
	}
}

// repaired tells of drift that was repaired without anybody being asked: no condition ever says so.
func repaired(p *run.PlanResult) string {
	if p == nil || len(p.Drift) == 0 {
		return "Drift was repaired"
	}
	return "Drift was repaired, changed outside of the stack:\n  " + strings.Join(p.Drift, "\n  ")
}

// planText renders the readable plan; a plan that cannot be read is told in a sentence, the run is what matters.
func (r *Reconciler) planText(ctx context.Context, p *pass, rec run.Record) string {
	data, err := r.Runs.ReadPlan(ctx, p.stack, rec.Spec.ID)
	if err == nil {
		var redacted *plan.Plan
		if redacted, err = plan.Decode(data); err == nil {
			return plan.Render(redacted, plan.RenderOptions{})
		}
	}
	r.Log.Warn("the readable plan cannot be read", "stack", p.stack.String(), "run", rec.Spec.ID, "error", err)
	return fmt.Sprintf("Plan: %s. See `yuba plan %s -n %s`.", summary(rec.Result.Plan.Counts), p.stack.Name, p.stack.Namespace)
}

// prepare turns a decision into what is to be done once the status is written.
func (r *Reconciler) prepare(ctx context.Context, p *pass, d decide.Decision) (func(context.Context) error, error) {
	switch d.Verb {
	case decide.VerbPlan, decide.VerbPlanAndApply, decide.VerbApply:
		return r.prepareRun(ctx, p, d)
	case decide.VerbCancel:
		return func(ctx context.Context) error { return r.Runs.Cancel(ctx, d.Subject) }, nil
	case decide.VerbRelease:
		p.tellWhatStays()
		return func(ctx context.Context) error { return r.letGo(ctx, p) }, nil
	case decide.VerbUnlock:
		if err := r.unlock(ctx, p, d); err != nil {
			return nil, err
		}
	}
	return func(context.Context) error { r.recorded(p); return nil }, nil
}

func (r *Reconciler) recorded(p *pass) {
	if p.taken != "" {
		r.Runs.Recorded(p.stack, p.taken)
	}
}

func (r *Reconciler) prepareRun(ctx context.Context, p *pass, d decide.Decision) (func(context.Context) error, error) {
	rec, err := r.newRecord(ctx, p, d)
	if err != nil {
		return nil, err
	}
	if rec.Announced {
		started := metav1.NewTime(p.now)
		p.obj.Status.CurrentRun = &infrav1.RunReference{ID: rec.Spec.ID, Operation: string(rec.Spec.Operation), Status: "queued", StartedAt: &started}
		p.obj.Status.LastAttemptedRevision = rec.Spec.Artifact.Revision
	}
	// The status names the run before it is on record: what is on record was wanted, and a name without a record is a run
	// that never began.
	return func(ctx context.Context) error {
		r.recorded(p)
		if err := r.Runs.Prepare(ctx, *rec); err != nil {
			return err
		}
		return r.Runs.Start(ctx, *rec)
	}, nil
}

// newRecord describes the run that a decision asks for.
func (r *Reconciler) newRecord(ctx context.Context, p *pass, d decide.Decision) (*run.Record, error) {
	rec := &run.Record{Created: p.now.UTC(), Trigger: d.Message, Token: run.NewToken(), UsedKept: d.UseKept, Config: p.facts.Config, Generation: p.obj.Generation}
	if p.config != nil {
		rec.WholeConfig, rec.SettledConfig = p.config.whole, p.config.settled
		rec.Inputs = p.inputsOnRecord()
	}
	if d.UseKept {
		kept, err := r.Runs.Record(ctx, p.stack, p.obj.Status.LastAppliedRun)
		if err != nil {
			return nil, fmt.Errorf("read what was applied last: %w", err)
		}
		rec.Spec, rec.State = kept.Spec, kept.State
		rec.Spec.Plan, rec.Spec.Unless = nil, ""
	} else {
		rec.Spec = r.spec(p)
		rec.State = run.StateRef{Namespace: p.obj.Namespace, Workspace: p.obj.WorkspaceName(), Suffix: p.obj.StateSuffix(),
			Labels: stateLabels(p.obj), Stack: p.obj.Name}
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
		// What was planned is applied with the very providers it was planned with.
		s.Upgrade = false
		s.Plan = &run.PlanRef{ID: d.Subject, RunID: p.obj.Status.Plan.RunID, Digest: p.obj.Status.Plan.Digest}
		if err := r.asPlanned(ctx, p, s); err != nil {
			return nil, err
		}
	}
	// A look on the interval leaves no trace unless it finds something.
	rec.Quiet, rec.HeldBy = d.Reason == decide.ReasonDriftDue, d.Hold
	rec.Announced = !rec.Quiet
	rec.Urgency = urgencyOf(d)
	s.Upgrade = s.Upgrade && rec.Announced
	if d.Reason == decide.ReasonModulesMayMove {
		s.Unless = p.obj.Status.Modules.Placed
	}
	askFor(s, p.obj, rec.Announced)
	s.Direct = direct(p.obj, s)
	// What was planned is applied without a second look at the lock.
	if s.ForceUnlock = lockToBreak(p.obj); d.Verb == decide.VerbApply {
		s.ForceUnlock = ""
	}
	lockFile, err := r.Runs.LockFile(ctx, p.stack)
	s.LockFile = lockFile
	return rec, err
}

// direct tells whether a run may plan and apply in one go: nothing was ever applied, and nobody looks at the plan.
func direct(obj *infrav1.Terraform, s *run.Spec) bool {
	return s.Operation == run.OperationPlanAndApply && s.Purpose == run.PurposeDeploy && !s.Destroy && !s.Describe && !s.Review &&
		s.Backend.Kind == run.BackendManaged && obj.Status.LastAppliedRevision == "" && obj.Status.LastAppliedRun == ""
}

// urgencyOf says who waits for the run that a decision asks for.
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

func (r *Reconciler) spec(p *pass) run.Spec {
	obj, c := p.obj, p.config
	limits := r.Limits
	limits.Grace = run.Duration(obj.GetGracePeriod())
	s := run.Spec{Stack: p.stack, Path: cleanDir(obj.Spec.Path), Workspace: obj.WorkspaceName(),
		Targets: obj.Spec.Targets, Parallelism: obj.Spec.Parallelism, RefreshOnApply: obj.Spec.RefreshBeforeApply,
		Limits: limits,
		// New providers are looked for when the program or its object changed, or when somebody asks.
		Upgrade: obj.UpgradesOnInit() && (obj.Status.LastPlannedRevision != c.program.artifact.Revision ||
			obj.Status.LastPlannedGeneration != obj.Generation || p.facts.Stack.Requested != p.facts.Stack.Handled),
		ReadOutputs: obj.KeepsOwnState() || usesEncryption(c)}
	c.into(&s)
	if t := obj.Spec.Tool; t != nil {
		s.Tool = run.Tool{Name: t.Name, Version: t.Version}
	}
	return s
}

// usesEncryption tells whether tofu encrypts the state: then only tofu can read its outputs.
func usesEncryption(c *configuration) bool {
	if c.program.module.Encrypted {
		return true
	}
	for _, e := range c.env {
		if e.Name == "TF_ENCRYPTION" && e.Value != "" {
			return true
		}
	}
	return false
}

func stateLabels(obj *infrav1.Terraform) map[string]string {
	if obj.Spec.BackendConfig == nil {
		return nil
	}
	return obj.Spec.BackendConfig.Labels
}

// Permit is asked before an apply begins, while the run holds the state's lock: is this still wanted? It answers from
// the object as it is in the API now, and puts the run on the object's status if it was not there.
func (r *Reconciler) Permit(ctx context.Context, rec run.Record, planned *run.PlanResult) (bool, string, error) {
	var obj infrav1.Terraform
	key := types.NamespacedName{Namespace: rec.Spec.Stack.Namespace, Name: rec.Spec.Stack.Name}
	if err := r.Reader.Get(ctx, key, &obj); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, "the stack is gone", nil
		}
		return false, "", err
	}
	takeover, err := r.takeoverObjection(ctx, &obj, rec)
	if err != nil {
		return false, "", err
	}
	if no := cmp.Or(objection(&obj, rec), r.outageObjection(&obj, rec), takeover); no != "" {
		return false, no, nil
	}
	// A run that looked where modules are, and found that some have moved, has left Ready alone until now.
	told := rec.Spec.Unless == "" || conditions.Of(&obj, infrav1.ConditionReady).Status != metav1.ConditionTrue
	if ref := obj.Status.CurrentRun; ref != nil && ref.ID == rec.Spec.ID && !rec.Spec.Operation.ByHand() && told {
		if planned != nil || !rec.Spec.Direct { // else it plans first, and tells when it begins to change something
			r.Changing(rec)
		}
		return true, "", nil
	}
	before := obj.DeepCopy()
	describeApply(&obj, rec)
	obj.Status.Summary = summarize(situation{obj: &obj})
	if err := r.patchStatus(ctx, &obj, before); err != nil {
		return false, "", err
	}
	return true, "", nil
}

// applyTakes is how long an apply goes on before the status says so: most are over by then, and their end says more.
const applyTakes = time.Second

// Changing is told that a run which the stack's status names begins to change something. It has the stack looked at when
// that takes its time.
func (r *Reconciler) Changing(rec run.Record) {
	time.AfterFunc(applyTakes, func() {
		if !r.Runs.Working(rec.Spec.ID) {
			return
		}
		select {
		case r.applying <- rec.Spec.Stack:
		default: // many begin at once; the status of one says a little less until its end
		}
	})
}

// describeApply says that a run's apply begins, and names the run where the status did not.
func describeApply(obj *infrav1.Terraform, rec run.Record) {
	if ref := obj.Status.CurrentRun; ref == nil || ref.ID != rec.Spec.ID {
		started := metav1.NewTime(rec.Created)
		obj.Status.CurrentRun = &infrav1.RunReference{ID: rec.Spec.ID, Operation: string(rec.Spec.Operation), StartedAt: &started}
	}
	obj.Status.CurrentRun.Status = "applying"
	if rec.Spec.Operation.ByHand() {
		return
	}
	setCondition(obj, infrav1.ConditionApply, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageApplyStarted)
	if rec.Spec.Purpose != run.PurposeDelete {
		setReady(obj, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageApplying)
	}
}

// rejected says whether a run applies a plan that a person rejected: that very plan, or, in a run that plans for itself,
// whatever comes while a rejected one is pending.
func rejected(obj *infrav1.Terraform, rec run.Record) bool {
	no := obj.Annotations[infrav1.AnnotationRejected]
	if rec.Spec.Plan != nil {
		return no != "" && no == rec.Spec.Plan.ID
	}
	return no != "" && no == obj.Status.Plan.Pending
}

// objection says why a run must not apply, in words; empty when it may.
func objection(obj *infrav1.Terraform, rec run.Record) string {
	if rec.Spec.Operation.ByHand() {
		return objectionByHand(obj, rec)
	}
	deleting := !obj.DeletionTimestamp.IsZero()
	switch {
	case string(obj.UID) != rec.Spec.Stack.UID:
		return "the stack was replaced by another of its name"
	case obj.Spec.Suspend:
		return "the stack was suspended"
	case heldByHand(obj):
		return "the stack is held for work by hand"
	case rec.Spec.Purpose == run.PurposeDelete:
		if !deleting || !obj.Spec.DestroyResourcesOnDeletion {
			return "the stack is not to be destroyed"
		}
		return ""
	case deleting:
		return "the stack is being deleted"
	case rec.Generation != 0 && rec.Generation != obj.Generation:
		return "the stack was changed meanwhile"
	case rec.Spec.Destroy != obj.Spec.Destroy:
		return "spec.destroy was changed"
	case obj.Spec.PlanOnly || obj.DriftOnly():
		return "the stack may only be planned"
	case rejected(obj, rec):
		return "the plan was rejected"
	case obj.AutoApproves() || obj.Spec.Force:
		return ""
	case rec.Spec.Plan != nil && obj.Spec.ApprovePlan == rec.Spec.Plan.ID && obj.Status.Plan.Pending == rec.Spec.Plan.ID:
		return ""
	}
	return "nobody approves it any more"
}
