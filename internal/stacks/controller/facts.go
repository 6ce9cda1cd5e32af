// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// gather reads everything that a decision depends on.
func (r *Reconciler) gather(ctx context.Context, h *held) (*gathered, error) {
	obj := h.obj
	p := &gathered{held: *h}
	p.facts = decide.Facts{Now: p.now, Stack: stackFacts(obj), Refused: refusalFacts(obj), Kept: obj.Status.LastAppliedRun != ""}
	if err := runHistoryOf(r).gatherRuns(ctx, p); err != nil || p.untouched() {
		return p, err
	}
	if err := inTurn(ctx, p, relativesOf(r).gatherRelations, r.gatherConfiguration, outagesOf(r).gatherCircuit, judgeOf(r).gatherPolicy, contractsOf(r).gatherContracts); err != nil {
		return nil, err
	}
	p.facts.Pending = pendingFacts(obj)
	p.recognize()
	if p.config != nil {
		completeBackend(obj, p.config.StateLocation())
	}
	if p.facts.StateProblem = backendProblem(p); p.facts.StateProblem != "" {
		p.facts.StateReason = infrav1.ReasonBackendChanged
		return p, nil
	}
	// Yuba reads nothing of another tenant's state, not even its lock holder.
	if obj.KeepsOwnState() || p.noState != nil {
		return p, nil
	}
	return p, inTurn(ctx, p, stateLocksOf(r).gatherHolder, stateAccessOf(r).gatherTakeover, stateAccessOf(r).settleTakeover, stateAccessOf(r).gatherState)
}

// inTurn calls the steps until one fails.
func inTurn[P any](ctx context.Context, p P, steps ...func(context.Context, P) error) error {
	for _, step := range steps {
		if err := step(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// untouched reports whether a stack was created suspended and never reconciled since. Yuba reads
// nothing for it: a thousand stacks may be created at once.
func (p *gathered) untouched() bool {
	s := &p.obj.Status
	return p.obj.Spec.Suspend && p.obj.DeletionTimestamp.IsZero() && p.inHand == nil && p.over == nil && s.CurrentRun == nil && s.LastRun == nil &&
		s.LastAppliedRevision == "" && s.Plan.Pending == "" && len(s.Conditions) == 0
}

func stackFacts(obj *infrav1.Terraform) decide.Stack {
	spec, status := &obj.Spec, &obj.Status
	s := decide.Stack{
		Generation: obj.Generation, Deleting: !obj.DeletionTimestamp.IsZero(), Suspended: spec.Suspend,
		Mode: decide.ModeManual, Rejected: obj.Annotations[infrav1.AnnotationRejected],
		PlanOnly: spec.PlanOnly, Force: spec.Force, Destroy: spec.Destroy,
		DestroyOnDeletion: spec.DestroyResourcesOnDeletion, DetectDrift: !spec.DisableDriftDetection,
		Interval: obj.GetDriftDetectionInterval(), WorldInterval: obj.Spec.Interval.Duration, RetryInterval: obj.GetRetryInterval(),
		Requested: obj.ReconcileRequest(), Handled: status.LastHandledReconcileAt,
		PlannedConfig: status.ConfigDigest, PlannedGeneration: status.LastPlannedGeneration, AppliedOnce: status.LastAppliedRevision != "",
		LastAppliedPlan: status.Plan.LastApplied, ApplyFailed: status.LastFailedApply != nil, OwnBackend: obj.KeepsOwnState(),
		Held: heldByHand(obj), Moved: movedFacts(obj), Call: obj.Name + " -n " + obj.Namespace, PlannedRevision: status.LastPlannedRevision,
	}
	s.Allowed = approvedByName(obj)
	if spec.RetryStrategy == infrav1.ExponentialBackoff {
		s.MaxRetryInterval = obj.GetMaxRetryInterval()
	}
	// As in tofu-controller, the first attempt counts as a retry, and is made even without any.
	if rem := spec.Remediation; rem != nil && rem.Retries >= 0 {
		s.MaxFailures = max(int(min(rem.Retries, math.MaxInt32)), 1)
	}
	if lock := spec.TFState; lock != nil {
		s.BreakAnyLock = lock.ForceUnlock == infrav1.ForceUnlockAuto
		if lock.ForceUnlock == infrav1.ForceUnlockYes {
			s.BreakLock = lock.LockIdentifier
		}
	}
	switch {
	case obj.AutoApproves():
		s.Mode = decide.ModeAuto
	case obj.ByPolicy():
		s.Mode = decide.ModePolicy
	case obj.DriftOnly():
		s.Mode = decide.ModeDisabled
	case strings.HasPrefix(spec.ApprovePlan, infrav1.ApprovePlanReplanPrefix):
		s.ReplanOnRevision = true
	default:
		s.Approved = spec.ApprovePlan
	}
	holdForPullRequest(&s, obj)
	return s
}

// refusalFacts: the status is about the generation and the revision of the last attempt.
func refusalFacts(obj *infrav1.Terraform) decide.Refusal {
	status := &obj.Status
	if status.LastFailedAttemptAt == nil {
		return decide.Refusal{}
	}
	return decide.Refusal{At: status.LastFailedAttemptAt.Time, Failures: int(status.ReconciliationFailures),
		Generation: status.ObservedGeneration, Revision: status.LastAttemptedRevision}
}

// movedFacts is nil for a stack without a mark of "yuba move".
func movedFacts(obj *infrav1.Terraform) *decide.Moved {
	message := moving.Held(obj)
	if message == "" {
		return nil
	}
	return &decide.Moved{Message: message, Away: moving.Away(obj)}
}

// heldByHand reports manual work on the stack, by the annotation of tofu-controller's CLI.
func heldByHand(obj *infrav1.Terraform) bool {
	_, annotated := obj.Annotations[infrav1.AnnotationBreakTheGlass]
	return obj.Spec.BreakTheGlass || annotated
}

func pendingFacts(obj *infrav1.Terraform) *decide.Plan {
	status := &obj.Status
	if status.Plan.Pending == "" {
		return nil
	}
	plan := &decide.Plan{ID: status.Plan.Pending, Config: status.ConfigDigest, Destroy: status.Plan.IsDestroyPlan, Drift: status.Plan.IsDriftDetectionPlan,
		Deletion: status.Plan.IsDeletionPlan,
		// A plan of another controller is stored where Yuba does not search.
		Usable: status.Plan.RunID != "" && status.Plan.Digest != "", HeldBy: status.Plan.HeldBy}
	if status.StateSerial != nil {
		plan.StateSerial = uint64(*status.StateSerial) //nolint:gosec // a serial that was stored as one
	}
	plan.Verdict, plan.Contracts = verdictFacts(obj), contractFacts(obj)
	return plan
}

func (h runHistory) gatherRuns(ctx context.Context, p *gathered) error {
	if rec, canceled, ok := h.runs.InHand(p.stack); ok {
		p.facts.Current = currentFacts(rec, canceled)
		place, err := placeOf(p.rules, p.obj, rec.Spec.ID)
		if err != nil {
			return err
		}
		p.facts.Current.Misplaced = !rec.Spec.Operation.ByHand() && rec.Started == nil && rec.Place.Key() != place.Key()
		p.inHand = &rec
	}
	if ref := p.obj.Status.LastRun; ref != nil {
		last, err := h.lastFacts(ctx, p, ref)
		if err != nil {
			return err
		}
		p.facts.Last = last
	}
	p.facts.LastDriftCheck = times.Of(p.obj.Status.LastPlanAt)
	quiet, err := h.runs.LastQuiet(ctx, p.stack)
	if err != nil {
		return err
	}
	if quiet.After(p.facts.LastDriftCheck) {
		p.facts.LastDriftCheck = quiet
	}
	return nil
}

func currentFacts(rec run.Record, canceled bool) *decide.Run {
	return &decide.Run{ID: rec.Spec.ID, Purpose: string(rec.Spec.Purpose), Config: rec.Config, Destroy: rec.Spec.Destroy,
		Apply:    rec.Changing() || rec.Spec.Operation.ByHand(),
		Canceled: canceled, UsedKept: rec.UsedKept}
}

// lastFacts reads only the record of a failed run: for others the status is enough.
func (h runHistory) lastFacts(ctx context.Context, p *gathered, ref *infrav1.RunReference) (*decide.Run, error) {
	last := &decide.Run{ID: ref.ID, Finished: times.Of(ref.FinishedAt), Failures: int(p.obj.Status.ReconciliationFailures)}
	deleting := !p.obj.DeletionTimestamp.IsZero()
	last.Failed, last.Interrupted = ref.Status == string(run.OutcomeFailed), ref.Status == string(run.OutcomeInterrupted)
	last.Canceled = ref.Status == string(run.OutcomeCanceled)
	if ref.Status == string(run.OutcomeSucceeded) && !deleting {
		return last, nil
	}
	var rec run.Record
	if p.ended != nil && p.ended.Spec.ID == ref.ID {
		rec = *p.ended
	} else {
		var err error
		if rec, err = h.runs.Record(ctx, p.stack, ref.ID); err != nil {
			h.log.Warn("the last run's record cannot be read", "stack", p.stack.String(), "run", ref.ID, "error", err)
			return last, nil
		}
	}
	last.Purpose, last.Config, last.Destroy, last.UsedKept = string(rec.Spec.Purpose), rec.Config, rec.Spec.Destroy, rec.UsedKept
	last.Apply = rec.Spec.Operation == run.OperationApply || rec.Permitted
	last.Generation, last.Revision = rec.Generation, rec.Spec.Artifact.Revision
	if result := rec.Result; result != nil {
		if result.Outcome != run.OutcomeSucceeded && result.Outcome != run.OutcomeCanceled {
			p.failing = &rec
		}
		if result.Lock != nil {
			last.Lock = result.Lock.ID
		}
		last.ApplyStarted = result.ApplyStarted
		last.OnlyPlanned = rec.Spec.Operation == run.OperationPlan && result.Plan != nil && result.Plan.Changes
		last.Waits, last.Stopped = result.Class == run.FailureConfiguration || result.Class == run.FailurePolicy, result.Class == run.FailureCanceled
		if result.Class == run.FailurePolicy {
			last.RefusedBy, last.RefusedUntil = rec.Policies, rec.RefusedUntil
		}
	}
	return last, nil
}

func (r *Reconciler) gatherConfiguration(ctx context.Context, p *gathered) error {
	prog, err := r.Source.Find(ctx, p.obj, r.Rules.AllowCrossNamespace)
	return r.configure(ctx, p, prog, err, getter{r.Reader, r.Stacks})
}

// configure combines a program, or the error of finding it, with the inputs from a getter.
func (r *Reconciler) configure(ctx context.Context, p *gathered, prog *reads.Program, err error, from inputs.Getter) error {
	var refused error
	if p.noState, refused = stateAccessOf(r).refusedState(ctx, p.obj); refused != nil {
		return refused
	}
	var missing *reads.SourceError
	if errors.As(err, &missing) {
		p.facts.Source = decide.Source{Problem: missing.Message, Denied: missing.Denied, Lasting: missing.Lasting, Revision: missing.Revision}
		return nil
	}
	if err != nil {
		return err
	}
	p.facts.Source = decide.Source{Ready: true, Revision: prog.Revision()}
	turns := &turns{Getter: from, stack: p.stack.String(), now: p.facts.Now}
	in, err := r.Rules.Resolve(ctx, turns, p.obj)
	var config *reads.Configuration
	if err == nil {
		err = turns.waits()
	}
	if err == nil && p.noState != nil {
		err = p.noState
	}
	if err == nil {
		err = contractsOf(r).consume(ctx, p, prog, in)
	}
	if err == nil {
		config, err = reads.Configure(p.obj, prog, in)
	}
	return p.conclude(config, err)
}

// conclude separates problems that the user must solve from transient errors.
func (p *gathered) conclude(config *reads.Configuration, err error) error {
	var missing *inputs.Error
	var problem *reads.Problem
	var waiting *waitingError
	var turn *turnError
	switch {
	case errors.As(err, &turn):
		p.facts.Inputs = decide.Inputs{Problem: turn.Error(), Reason: infrav1.ReasonWaiting, Waits: true, WaitsFor: turn.runs, WaitsUntil: turn.until}
	case errors.As(err, &waiting):
		p.facts.Inputs = decide.Inputs{Problem: waiting.message, Reason: infrav1.ReasonWaiting, Waits: true, WaitsFor: waiting.producer}
	case errors.As(err, &missing):
		p.facts.Inputs = decide.Inputs{Problem: missing.Error(), Reason: inputReasons[missing.Part()], Lasting: missing.Lasting()}
	case errors.As(err, &problem):
		p.facts.Inputs = decide.Inputs{Problem: problem.Message, Reason: problem.Reason, Lasting: !problem.Passing}
	case err != nil:
		return fmt.Errorf("resolve the inputs of %s: %w", p.stack, err)
	default:
		p.facts.Inputs.Ready = true
		config.DependOn(p.dependencyOutputs)
		config.Settle(p.obj)
		p.facts.Config, p.facts.ReadsWorld, p.facts.OnlyModules = config.Digest, config.Reading(), config.OnlyModules(p.obj)
		p.config = config
	}
	return nil
}

// inputReasons are the reasons that tofu-controller gives when one of these is missing or wrong.
var inputReasons = map[inputs.Part]string{
	inputs.PartAccess: infrav1.ReasonAccessDenied, inputs.PartTool: infrav1.ReasonNewFailed, inputs.PartFiles: infrav1.ReasonInitFailed,
	inputs.PartVariables: infrav1.ReasonVarsGenerationFailed, inputs.PartTemplate: infrav1.ReasonTemplateGenerationFailed,
	inputs.PartBackend: infrav1.ReasonInitFailed,
}

// getter reads ConfigMaps and Secrets past the cache, which holds only their metadata.
type getter struct {
	reader client.Reader
	// stacks reads stacks, up to our own last write.
	stacks interface {
		Get(ctx context.Context, key types.NamespacedName, obj client.Object) error
	}
}

func (g getter) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	var cm corev1.ConfigMap
	return &cm, g.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &cm)
}

func (g getter) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	if err := g.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret); err != nil {
		return nil, err
	}
	return &secret, g.distrust(ctx, &secret)
}

func sinceText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// recognize replaces digests over the whole archive, as earlier versions recorded them, with the
// current digest: the same archive has the same part.
func (p *gathered) recognize() {
	if p.config == nil || p.config.Whole == "" {
		return
	}
	same := []*string{&p.facts.Stack.PlannedConfig}
	if p.facts.Pending != nil {
		same = append(same, &p.facts.Pending.Config)
	}
	if p.facts.Current != nil {
		same = append(same, &p.facts.Current.Config)
	}
	if p.facts.Last != nil {
		same = append(same, &p.facts.Last.Config)
	}
	for _, digest := range same {
		if *digest == p.config.Whole {
			*digest = p.config.Digest
		}
	}
}

// planned reports whether the last conclusive pass had the current configuration.
func (p *gathered) planned() bool {
	last := p.obj.Status.ConfigDigest
	return last != "" && (last == p.facts.Config || p.config != nil && last == p.config.Whole)
}

// about reports whether a run had the configuration that a digest in the status identifies.
func about(rec run.Record, digest string) bool {
	return digest != "" && (rec.Config == digest || rec.WholeConfig == digest)
}

// asPlanned applies a plan with the archive it was made with, which may be an older one.
func (w runDrafts) asPlanned(ctx context.Context, p *gathered, s *run.Spec) error {
	if p.config == nil || p.config.Whole == "" {
		return nil // the archive is the same, or the plan would not fit
	}
	rec, err := w.runs.Record(ctx, p.stack, s.Plan.RunID)
	switch {
	case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
		return nil // the run finds out whether the plan itself exists
	case err != nil:
		return fmt.Errorf("read the run that made plan %s of %s: %w", s.Plan.ID, p.stack, err)
	}
	s.Artifact, s.Part = rec.Spec.Artifact, rec.Spec.Part
	return nil
}
