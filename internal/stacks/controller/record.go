// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// outcome is an ended run, with facts besides its record.
type outcome struct {
	rec run.Record
	// planText is the readable plan, for the message that reports drift.
	planText string
}

// record writes the result of a run to the status. It changes nothing else.
func record(obj *infrav1.Terraform, o outcome) {
	status, result := &obj.Status, o.rec.Result
	status.CurrentRun = nil
	status.LastRun = &infrav1.RunReference{ID: o.rec.Spec.ID, Operation: string(o.rec.Spec.Operation),
		Status: string(result.Outcome), StartedAt: startedAt(o.rec), FinishedAt: finishedAt(o.rec)}
	status.LastAttemptedRevision = o.rec.Spec.Artifact.Revision
	if result.SameModules {
		recordSameModules(obj, o)
		return
	}
	switch {
	case result.Outcome == run.OutcomeCanceled:
		recordCanceled(obj)
	case result.Outcome != run.OutcomeSucceeded:
		recordFailure(obj, o)
	case result.Applied:
		recordApplied(obj, o)
	case result.Plan != nil && result.Plan.Changes:
		recordPlan(obj, o)
	default:
		recordNoChanges(obj, o)
	}
	recordLock(obj, o.rec)
	recordUnproven(obj, o.rec)
}

func startedAt(rec run.Record) *metav1.Time {
	return &metav1.Time{Time: ptr.Deref(rec.Started, rec.Created)}
}

func finishedAt(rec run.Record) *metav1.Time { return &metav1.Time{Time: rec.Result.Finished} }

// drifted reports whether no input had changed: all changes found are drift.
func drifted(rec run.Record) bool { return rec.Spec.Purpose == run.PurposeDrift }

// planned records the inputs of a conclusive plan.
func planned(obj *infrav1.Terraform, o outcome) {
	status := &obj.Status
	status.LastPlanAt, status.LastDriftCheckAt = finishedAt(o.rec), finishedAt(o.rec)
	status.LastPlannedRevision = o.rec.Spec.Artifact.Revision
	// The object may have changed since the run was requested.
	status.LastPlannedGeneration = cmp.Or(o.rec.Generation, obj.Generation)
	status.ConfigDigest = o.rec.Config
	reads.LearnModules(obj, o.rec)
	status.ReconciliationFailures = 0
	if p := o.rec.Result.Plan; p != nil {
		status.Plan.Summary = plan.Counts(p.Counts).Summary()
	}
	if m := o.rec.StateMark; m != nil {
		serial := int64(m.Serial) //nolint:gosec // serials count writes
		status.StateSerial = &serial
	}
}

// recordSameModules: another revision has the program and modules of the last plan.
func recordSameModules(obj *infrav1.Terraform, o outcome) {
	obj.Status.ConfigDigest = o.rec.Config
	followRevision(obj, o.rec.Spec.Artifact.Revision)
	conditions.Remove(obj, infrav1.ConditionReconciling)
}

// recordPlan: a plan with changes was made and not applied.
func recordPlan(obj *infrav1.Terraform, o outcome) {
	status, p := &obj.Status, o.rec.Result.Plan
	planned(obj, o)
	if drifted(o.rec) {
		status.LastDriftDetectedAt = finishedAt(o.rec)
	}
	history := decide.PlanHistory{Base: status.Plan.Base, Sequence: int(status.Plan.Sequence), Applied: status.Plan.LastApplied,
		Named: cmp.Or(approvedByName(obj), obj.Spec.ApprovePlan), PendingID: status.Plan.Pending, PendingChanges: status.Plan.ChangesDigest}
	if status.Plan.Rejected == history.PendingID {
		// A plan requested after a rejection needs a new decision, even with the same changes.
		history.PendingID = ""
	}
	if strings.HasPrefix(obj.Spec.ApprovePlan, infrav1.ApprovePlanReplanPrefix) && history.Base != decide.BasePlanID(o.rec.Spec.Artifact.Revision) {
		// The pending plan and its id end with its revision.
		history.PendingID = ""
	}
	if obj.PullRequestHold() != nil {
		// Its files and inputs were compared with the reviewed ones, and equal changes do not say that these are equal, too.
		history.PendingID = ""
	}
	id, history := decide.NamePlan(history, o.rec.Spec.Artifact.Revision, p.ChangesDigest)
	carried := id == status.Plan.Pending
	// What was found in the plan of this id until now: another finding ends the id (see renameUnseen).
	seen := status.Plan.Policy
	if !carried {
		seen, status.Plan.Approved = nil, false
	}
	status.Plan.Base, status.Plan.Sequence = history.Base, int32(history.Sequence) //nolint:gosec // small
	status.Plan.Pending, status.Plan.ChangesDigest = id, p.ChangesDigest
	// Policies judge bytes: also a plan with the same changes is judged again.
	status.Plan.Digest, status.Plan.RunID, status.Plan.Policy, status.Plan.Approvals = p.Digest, o.rec.Spec.ID, seen, nil
	pinned(obj, o.rec)
	deletes := o.rec.Spec.Purpose == run.PurposeDelete
	status.Plan.IsDestroyPlan, status.Plan.IsDeletionPlan, status.Plan.HeldBy = o.rec.Spec.Destroy, deletes, o.rec.HeldBy
	status.Plan.IsDriftDetectionPlan = !deletes && (drifted(o.rec) && !carried || status.Plan.IsDriftDetectionPlan && carried)
	message := fmt.Sprintf(infrav1.MessageAwaitApproval, id)
	switch {
	case o.rec.HeldBy != "":
		message = decide.HeldMessage(id, o.rec.HeldBy, obj.Name+" -n "+obj.Namespace)
	case obj.Spec.PlanOnly:
		message = infrav1.MessagePlanOnly
	}
	setCondition(obj, infrav1.ConditionPlan, metav1.ConditionTrue, infrav1.ReasonPlannedWithChanges, infrav1.MessagePlanGenerated)
	if deletes { // until policies have judged it
		setReady(obj, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageDeleting)
		return
	}
	if obj.DriftOnly() {
		setReady(obj, metav1.ConditionFalse, infrav1.ReasonDriftDetected, fmt.Sprintf(infrav1.MessageDriftDetected, o.planText))
		return
	}
	if status.Plan.IsDriftDetectionPlan {
		setReady(obj, metav1.ConditionFalse, infrav1.ReasonDriftDetected,
			fmt.Sprintf(infrav1.MessageDriftDetected, o.planText+"\n"+message))
		return
	}
	setReady(obj, metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, message)
}

// recordNoChanges: a plan found nothing to do.
func recordNoChanges(obj *infrav1.Terraform, o outcome) {
	planned(obj, o)
	clearPending(obj)
	read(obj, o.rec)
	neverApplied(obj)
	succeeded(obj, o)
	// Another controller, or an earlier stack, applied this one. From now on its inputs are kept.
	found := o.rec.StateMark != nil && o.rec.StateMark.Digest != "" || len(o.rec.Result.Outputs) > 0
	if obj.Status.LastAppliedRun == "" && (found || obj.Status.LastAppliedRevision != "") && !o.rec.Spec.Destroy && !o.rec.Quiet {
		obj.Status.LastAppliedRun = o.rec.Spec.ID
	}
	revision := o.rec.Spec.Artifact.Revision
	switch {
	case o.rec.Spec.Destroy:
		setCondition(obj, infrav1.ConditionPlan, metav1.ConditionFalse, infrav1.ReasonPlannedNoChanges, infrav1.MessageNothingToDestroy)
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonPlannedNoChanges, at(infrav1.MessageNothingToDestroy, revision))
	case drifted(o.rec):
		setCondition(obj, infrav1.ConditionPlan, metav1.ConditionFalse, infrav1.ReasonPlannedNoChanges, infrav1.MessagePlanNoChanges)
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonNoDrift, at(infrav1.MessageNoDrift, revision))
	default:
		setCondition(obj, infrav1.ConditionPlan, metav1.ConditionFalse, infrav1.ReasonPlannedNoChanges, infrav1.MessagePlanNoChanges)
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonPlannedNoChanges, at(infrav1.MessagePlanNoChanges, revision))
	}
}

func recordApplied(obj *infrav1.Terraform, o outcome) {
	status, spec := &obj.Status, o.rec.Spec
	planSummary := status.Plan.Summary
	planned(obj, o)
	var id string
	if spec.Plan != nil {
		// Keep the summary of the plan, which another run made.
		id, status.Plan.Summary = spec.Plan.ID, planSummary
	} else {
		// Automatic applies name their plan for events and history.
		var history decide.PlanHistory
		id, history = decide.NamePlan(decide.PlanHistory{Base: status.Plan.Base, Sequence: int(status.Plan.Sequence), Applied: status.Plan.LastApplied}, spec.Artifact.Revision, "")
		status.Plan.Base, status.Plan.Sequence = history.Base, int32(history.Sequence) //nolint:gosec // small
	}
	status.Plan.LastApprovedBy = approvedBy(obj, spec.Plan)
	clearPending(obj)
	read(obj, o.rec)
	status.Plan.LastApplied = id
	status.Plan.IsDestroyPlan = spec.Destroy
	status.Plan.IsDriftDetectionPlan = drifted(o.rec)
	status.LastAppliedRevision = spec.Artifact.Revision
	status.LastAppliedArtifact = &infrav1.ArtifactReference{Digest: spec.Artifact.Digest, Revision: spec.Artifact.Revision, Path: spec.Path}
	status.LastAppliedRun = spec.ID
	if drifted(o.rec) {
		status.LastAppliedByDriftDetectionAt, status.LastDriftDetectedAt = finishedAt(o.rec), finishedAt(o.rec)
	}
	succeeded(obj, o)
	message := infrav1.MessageApplied
	if spec.Destroy {
		message = infrav1.MessageDestroyed
	}
	setCondition(obj, infrav1.ConditionPlan, metav1.ConditionTrue, infrav1.ReasonPlannedWithChanges, infrav1.MessagePlanGenerated)
	setCondition(obj, infrav1.ConditionApply, metav1.ConditionTrue, infrav1.ReasonApplied, message)
	setReady(obj, metav1.ConditionTrue, infrav1.ReasonApplied, at(message, spec.Artifact.Revision))
}

// approvedBy names the people whose approvals the API recorded of the applied plan, as it was judged.
func approvedBy(obj *infrav1.Terraform, applied *run.PlanRef) string {
	p := &obj.Status.Plan
	if applied == nil || p.Policy == nil || p.Policy.Plan != applied.Digest {
		return ""
	}
	var names []string
	for _, a := range p.Approvals {
		if a.Bound == p.Policy.Bound {
			names = append(names, a.User)
		}
	}
	return infrav1.TrimMessage(strings.Join(names, ", "))
}

func succeeded(obj *infrav1.Terraform, o outcome) {
	obj.Status.LastSuccessfulReconcileAt = finishedAt(o.rec)
	obj.Status.ReconciliationFailures, obj.Status.LastFailedApply = 0, nil
	conditions.Remove(obj, infrav1.ConditionReconciling)
	conditions.Remove(obj, infrav1.ConditionStalled)
}

// recordCanceled: nothing changed. An approved plan that was not permitted stays pending.
func recordCanceled(obj *infrav1.Terraform) {
	conditions.Remove(obj, infrav1.ConditionReconciling)
	neverApplied(obj)
}

// neverApplied reverts the announcement of an apply.
func neverApplied(obj *infrav1.Terraform) {
	obj.Status.Plan.Approved = false
	if conditions.Of(obj, infrav1.ConditionApply).Reason == infrav1.ReasonProgressing {
		conditions.Remove(obj, infrav1.ConditionApply)
	}
}

// recordFailure: a plan whose apply began is used up. Otherwise its id and approval wait for a
// fresh plan with the same changes; its file is not used again.
func recordFailure(obj *infrav1.Terraform, o outcome) {
	status, result := &obj.Status, o.rec.Result
	status.ReconciliationFailures++
	conditions.Remove(obj, infrav1.ConditionReconciling)
	switch {
	case result.ApplyStarted:
		clearPending(obj)
	case result.Class.Refused():
		recordRefusal(obj, o)
	case o.rec.Spec.Operation == run.OperationApply:
		status.Plan.Digest, status.Plan.RunID = "", ""
		neverApplied(obj)
	case o.rec.Spec.Direct:
		neverApplied(obj)
	}
	if result.ApplyStarted {
		status.LastFailedApply = status.LastRun.DeepCopy()
		setCondition(obj, infrav1.ConditionApply, metav1.ConditionFalse, infrav1.ReasonApplyConditionFailed, result.Error)
		// A deletion uses the inputs of a partial apply if there are no better ones.
		if status.LastAppliedRun == "" {
			status.LastAppliedRun = o.rec.Spec.ID
		}
	}
	setReady(obj, metav1.ConditionFalse, failureReason(&o.rec), failureMessage(obj, result))
}

// recordRefusal: neither a plan that a webhook or policies refused nor the previous one is offered for
// approval.
func recordRefusal(obj *infrav1.Terraform, o outcome) {
	clearPending(obj)
	obj.Status.LastPlanAt = finishedAt(o.rec)
	obj.Status.LastPlannedRevision = o.rec.Spec.Artifact.Revision
	obj.Status.Plan.IsDestroyPlan = o.rec.Spec.Destroy
	setCondition(obj, infrav1.ConditionPlan, metav1.ConditionFalse, failureReason(&o.rec), o.rec.Result.Error)
}

// failureReasons are the reasons for failures that have a class.
var failureReasons = map[run.Failure]string{
	run.FailureCanceled:  infrav1.ReasonRunCanceled,
	run.FailureTool:      infrav1.ReasonNewFailed,
	run.FailureSource:    infrav1.ReasonArtifactFailed,
	run.FailureWorkspace: infrav1.ReasonSelectWorkspaceFailed,
	run.FailureRefused:   infrav1.ReasonPostPlanningWebhookFailed,
	run.FailurePolicy:    infrav1.ReasonPolicyRefused,
	run.FailureLocked:    infrav1.ReasonLockHeld,
	run.FailureStalePlan: infrav1.ReasonStateMoved,
}

func failureReason(rec *run.Record) string {
	r := rec.Result
	if r.Outcome == run.OutcomeInterrupted {
		return infrav1.ReasonRunInterrupted
	}
	if reason := failureReasons[r.Class]; reason != "" {
		return reason
	}
	switch r.FailedStep {
	case run.StepInit, run.StepPrepare:
		return infrav1.ReasonInitFailed
	case run.StepApply:
		return infrav1.ReasonApplyFailed
	case run.StepOutput:
		return infrav1.ReasonOutputFailed
	}
	if drifted(*rec) {
		return infrav1.ReasonDriftDetectionFailed
	}
	return infrav1.ReasonPlanFailed
}

func failureMessage(obj *infrav1.Terraform, r *run.Result) string {
	return r.Error + unprovenAdvice(r) + lockAdvice(obj, r)
}

func clearPending(obj *infrav1.Terraform) {
	p := &obj.Status.Plan
	p.Pending, p.Digest, p.ChangesDigest, p.RunID, p.Approved = "", "", "", "", false
	p.IsDeletionPlan = false
	p.IsDriftDetectionPlan, p.HeldBy, p.Policy, p.Approvals, p.Contracts = false, "", nil, nil, nil
}

func at(message, revision string) string {
	return fmt.Sprintf(infrav1.MessageAtRevision, message, revision)
}

// tracePause is how far a status may lag behind drift checks: a thousand stacks that are checked
// each minute must not write a thousand times a minute.
const tracePause = time.Hour

// leaveTrace records that a drift check found nothing new: for the first clean one, so that Ready
// becomes NoDrift, and then once an hour.
func leaveTrace(obj *infrav1.Terraform, rec run.Record) {
	result, status := rec.Result, &obj.Status
	if result.Outcome != run.OutcomeSucceeded || result.Plan == nil {
		return
	}
	reads.LearnModules(obj, rec)
	finished := metav1.NewTime(result.Finished)
	if result.Plan.Changes {
		if status.Plan.IsDriftDetectionPlan && traceDue(obj, status.LastDriftDetectedAt, finished) {
			status.LastDriftCheckAt, status.LastDriftDetectedAt = &finished, &finished
		}
		return
	}
	ready := conditions.Of(obj, infrav1.ConditionReady)
	healthy := ready.Status == metav1.ConditionTrue
	first := drifted(rec) && healthy && ready.Reason != infrav1.ReasonNoDrift
	if !first && !traceDue(obj, status.LastDriftCheckAt, finished) {
		return
	}
	if status.LastDriftCheckAt = &finished; healthy {
		status.LastSuccessfulReconcileAt = &finished
	}
	if first {
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonNoDrift, at(infrav1.MessageNoDrift, rec.Spec.Artifact.Revision))
	}
}

func traceDue(obj *infrav1.Terraform, last *metav1.Time, now metav1.Time) bool {
	return last == nil || now.Sub(last.Time) >= tracePause+spread(obj.UID)
}

// spread is up to a quarter of the pause, by UID: stacks applied together must not write together.
func spread(uid types.UID) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(uid)) //nolint:errcheck // a hash takes everything
	return time.Duration(h.Sum32()%uint32(tracePause/4/time.Second)) * time.Second
}
