// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

func setCondition(obj *infrav1.Terraform, kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(obj, kind, status, reason, infrav1.TrimMessage(message))
}

func setReady(obj *infrav1.Terraform, status metav1.ConditionStatus, reason, message string) {
	setCondition(obj, infrav1.ConditionReady, status, reason, message)
}

// describe writes a decision to the status: waits, problems and the run in progress. The result of
// a run, which record wrote, stays until it is outdated.
func describe(p *acted) {
	obj, d := p.obj, p.decision
	obj.Status.ObservedGeneration = obj.Generation
	confirm(&p.decided)
	forgive(&p.gathered)
	describeWarnings(p)
	describeLock(p)
	describeCircuit(&p.decided)
	describeTakeover(&p.gathered)
	describeUnproven(obj)
	describeUnbound(&p.gathered)
	switch d.Verb {
	case decide.VerbFail:
		setReady(obj, metav1.ConditionFalse, d.Reason, d.Message)
		conditions.Remove(obj, infrav1.ConditionReconciling)
		describeAttempt(&p.decided)
		answerRequest(obj)
	case decide.VerbWait:
		describeWait(&p.decided)
		answerRequest(obj)
	case decide.VerbPlan, decide.VerbPlanAndApply, decide.VerbApply:
		describeStart(obj, d)
	case decide.VerbAwaitRun:
		describeAwaited(&p.gathered)
	case decide.VerbAwaitApproval:
		describeApproval(obj, d)
		sameAtRevision(&p.gathered)
		sameAtGeneration(&p.gathered)
	case decide.VerbRest:
		conditions.Remove(obj, infrav1.ConditionReconciling)
		describeRest(&p.decided)
		sameAtRevision(&p.gathered)
		sameAtGeneration(&p.gathered)
	case decide.VerbRelease:
		answerRequest(obj)
	}
	describePlanByPolicy(obj)
	describeContracts(p)
	describeStall(obj, d)
}

// describeWait reports a wait, unless Ready has an earlier reason.
func describeWait(p *decided) {
	obj, d := p.obj, p.decision
	if d.Reason != decide.ReasonDependencyNotReady {
		conditions.Remove(obj, infrav1.ConditionReconciling)
	}
	switch d.Reason {
	case decide.ReasonRetryPending, decide.ReasonRetryLimit, decide.ReasonCircuitOpen:
		// Ready is still about a missing Secret that came back; the earlier failure counts.
		if p.failing != nil && isOver(conditions.Of(obj, infrav1.ConditionReady)) {
			setReady(obj, metav1.ConditionFalse, failureReason(p.failing), failureMessage(obj, p.failing.Result))
		}
	case decide.ReasonLockHeld:
		setReady(obj, metav1.ConditionFalse, d.Reason, lockMessage(&p.gathered))
	case decide.ReasonDependencyNotReady:
		setReady(obj, metav1.ConditionFalse, d.Reason, d.Message)
		setCondition(obj, infrav1.ConditionReconciling, metav1.ConditionTrue, d.Reason, d.Detail)
	case decide.ReasonSuspended, decide.ReasonStateTakenOver, decide.ReasonMoved, decide.ReasonWaiting:
		setReady(obj, metav1.ConditionFalse, d.Reason, d.Message)
	case decide.ReasonBreakTheGlass:
		// A manual change is not visible here, so the known results no longer count.
		setReady(obj, metav1.ConditionUnknown, d.Reason, d.Message)
		forgetPlanned(obj)
	}
}

// describeStall reports that Yuba does nothing until somebody changes something. A suspended or
// held stack is not stalled: other conditions explain why it rests.
func describeStall(obj *infrav1.Terraform, d decide.Decision) {
	switch {
	case d.Spent:
		setCondition(obj, infrav1.ConditionStalled, metav1.ConditionTrue, infrav1.ReasonRetryLimitReached, infrav1.MessageRetryLimit)
	case d.Verb == decide.VerbFail && d.NextCheck.IsZero(), d.Reason == decide.ReasonStateTakenOver,
		d.Verb == decide.VerbWait && d.NextCheck.IsZero() && (d.Reason == decide.ReasonRetryLimit || d.Reason == decide.ReasonRetryPending):
		reason := d.Reason
		if reason == decide.ReasonRetryPending {
			reason = conditions.Of(obj, infrav1.ConditionReady).Reason
		}
		setCondition(obj, infrav1.ConditionStalled, metav1.ConditionTrue, reason, d.Message)
	default:
		conditions.Remove(obj, infrav1.ConditionStalled)
	}
}

// describeAttempt records the attempted revision, and counts the failure for limits and backoff.
func describeAttempt(p *decided) {
	status, d := &p.obj.Status, p.decision
	if revision := p.facts.Source.Revision; revision != "" && p.obj.DeletionTimestamp.IsZero() {
		status.LastAttemptedRevision = revision
	}
	if d.Failures > 0 {
		now := metav1.NewTime(p.now)
		status.LastFailedAttemptAt, status.ReconciliationFailures = &now, int64(d.Failures)
	}
}

// forgive resets the count of failures once source and inputs are usable again.
func forgive(p *gathered) {
	if p.facts.Config != "" && p.obj.Status.LastFailedAttemptAt != nil {
		p.obj.Status.LastFailedAttemptAt, p.obj.Status.ReconciliationFailures = nil, 0
	}
}

// answerRequest marks a request as handled without a run. The plan follows as soon as possible.
func answerRequest(obj *infrav1.Terraform) {
	if obj.ReconcileRequest() == obj.Status.LastHandledReconcileAt {
		return
	}
	obj.Status.LastHandledReconcileAt = obj.ReconcileRequest()
	if obj.DeletionTimestamp.IsZero() {
		forgetPlanned(obj)
	}
}

// forgetPlanned makes the next pass plan as soon as possible, and apply nothing before that.
func forgetPlanned(obj *infrav1.Terraform) { obj.Status.ConfigDigest = "" }

// sameAtRevision follows a revision that changes nothing for the stack. If its part is untouched,
// only a waiting dependant causes a write: a commit must not write a thousand statuses.
func sameAtRevision(p *gathered) {
	status, revision := &p.obj.Status, p.facts.Source.Revision
	if p.facts.Stack.Suspended || revision == "" || !p.planned() {
		return
	}
	if p.config != nil && p.config.Whole != "" && !p.awaitedAtRevision() {
		return
	}
	if status.LastPlannedRevision != revision {
		status.LastAttemptedRevision = revision
		followRevision(p.obj, revision)
	}
}

// followRevision records another revision of the same plan. Ready names it unless it is about an
// apply.
func followRevision(obj *infrav1.Terraform, revision string) {
	obj.Status.LastPlannedRevision = revision
	ready := conditions.Of(obj, infrav1.ConditionReady)
	for _, message := range []string{infrav1.MessagePlanNoChanges, infrav1.MessageNoDrift, infrav1.MessageNothingToDestroy} {
		if ready.Status == metav1.ConditionTrue && strings.HasPrefix(ready.Message, at(message, "")) {
			setReady(obj, ready.Status, ready.Reason, at(message, revision))
		}
	}
}

// sameAtGeneration follows a change of the object that does not affect its plan, which must not
// look stale.
func sameAtGeneration(p *gathered) {
	if !p.facts.Stack.Suspended && p.planned() {
		p.obj.Status.LastPlannedGeneration = p.obj.Generation
	}
}

// awaitedAtRevision reports whether a stack of the same source depends on this one.
func (p *held) awaitedAtRevision() bool {
	source := sourceOf(p.obj)
	return slices.ContainsFunc(p.dependants, func(t infrav1.Terraform) bool { return sourceOf(&t) == source })
}

// confirm repeats Ready for a new generation that needs no run, such as a used approval: clients
// wait for its observed generation.
func confirm(p *decided) {
	if d := p.decision; d.Verb.StartsRun() || d.Verb == decide.VerbAwaitRun || d.Verb == decide.VerbCancel {
		return
	}
	ready := conditions.Of(p.obj, infrav1.ConditionReady)
	if p.facts.Stack.Suspended && ready.Status == metav1.ConditionTrue && !p.planned() {
		return // the change is not applied until the stack is resumed, and dependants wait for that
	}
	if ready.Type != "" && ready.ObservedGeneration != p.obj.Generation {
		setReady(p.obj, ready.Status, ready.Reason, ready.Message)
	}
}

// describeStart reports that a run begins. A drift check changes nothing until it finds something.
func describeStart(obj *infrav1.Terraform, d decide.Decision) {
	obj.Status.LastHandledReconcileAt = obj.ReconcileRequest()
	switch d.Reason {
	case decide.ReasonDriftDue, decide.ReasonCircuitProbe:
		return
	case decide.ReasonModulesMayMove: // most find nothing, and Ready stays true until then
		setCondition(obj, infrav1.ConditionReconciling, metav1.ConditionTrue, infrav1.ReasonProgressing, d.Message)
		return
	}
	if !d.Again {
		obj.Status.ReconciliationFailures = 0
	}
	message := infrav1.MessagePlanning
	switch {
	case d.Purpose == decide.PurposeDelete:
		message = infrav1.MessageDeleting
	case d.Verb == decide.VerbApply:
		message = infrav1.MessageApplying
		obj.Status.Plan.Approved = true
		setCondition(obj, infrav1.ConditionApply, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageApplyStarted)
	}
	setReady(obj, metav1.ConditionUnknown, infrav1.ReasonProgressing, message)
	setCondition(obj, infrav1.ConditionReconciling, metav1.ConditionTrue, infrav1.ReasonProgressing, d.Message)
}

// describeAwaited reports the wait of a run, and removes the report afterwards.
func describeAwaited(p *gathered) {
	if rec := p.inHand; rec != nil && rec.Permitted && rec.Changing() && p.obj.Status.CurrentRun != nil && p.obj.Status.CurrentRun.ID == rec.Spec.ID {
		describeApply(p.obj, *rec)
	}
	if p.inHand != nil && waitsForPerson(p.inHand.Waits) {
		// Manual runs never affect Ready, nor do drift checks before they find something.
		if !p.inHand.Spec.Operation.ByHand() && !p.inHand.Quiet {
			message, _, _ := strings.Cut(p.inHand.Waits, run.ToolProgress) // each message is an event
			setReady(p.obj, metav1.ConditionUnknown, infrav1.ReasonProgressing, message)
		}
		setCondition(p.obj, infrav1.ConditionReconciling, metav1.ConditionTrue, infrav1.ReasonProgressing, p.inHand.Waits)
		return
	}
	if ready := conditions.Of(p.obj, infrav1.ConditionReady); p.inHand != nil && waitsForPerson(ready.Message) {
		setReady(p.obj, ready.Status, ready.Reason, progressOf(*p.inHand))
	}
	now := conditions.Of(p.obj, infrav1.ConditionReconciling)
	if p.inHand == nil || now.Status != metav1.ConditionTrue {
		return
	}
	switch {
	case p.inHand.Waits != "":
		setCondition(p.obj, infrav1.ConditionReconciling, now.Status, now.Reason, p.inHand.Waits)
	case strings.HasPrefix(now.Message, run.WaitsForRunner), waitsForPerson(now.Message):
		setCondition(p.obj, infrav1.ConditionReconciling, now.Status, now.Reason, p.inHand.Trigger)
	}
}

// progressOf is the message of Ready while a run works.
func progressOf(rec run.Record) string {
	switch {
	case rec.Spec.Purpose == run.PurposeDelete:
		return infrav1.MessageDeleting
	case rec.Changing():
		return infrav1.MessageApplying
	}
	return infrav1.MessagePlanning
}

// waitsForPerson reports whether a run waits for something that a person may have to change.
func waitsForPerson(waits string) bool {
	for _, prefix := range []string{run.WaitsForState, run.WaitsForPod, run.WaitsForReport, run.WaitsForTool} {
		if strings.HasPrefix(waits, prefix) {
			return true
		}
	}
	return false
}

// describeApproval updates how to approve: the id may change without a run.
func describeApproval(obj *infrav1.Terraform, d decide.Decision) {
	conditions.Remove(obj, infrav1.ConditionReconciling)
	if d.Reason == decide.ReasonRejected {
		obj.Status.Plan.Rejected = d.Subject
		setReady(obj, metav1.ConditionFalse, infrav1.ReasonPlanRejected, d.Message)
		return
	}
	if d.Reason == decide.ReasonPolicyRefused {
		setReady(obj, metav1.ConditionFalse, infrav1.ReasonPolicyRefused, d.Message)
		return
	}
	if d.Reason == decide.ReasonContractBroken {
		setReady(obj, metav1.ConditionUnknown, infrav1.ReasonContractBroken, d.Message)
		return
	}
	if ready := conditions.Of(obj, infrav1.ConditionReady); ready.Reason == infrav1.ReasonDriftDetected && !obj.Status.Plan.IsDeletionPlan {
		setReady(obj, ready.Status, ready.Reason, withPolicy(obj, ready.Message, d.Message))
		return
	}
	setReady(obj, metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, d.Message)
}

// describeRest corrects an outdated Ready condition, such as one about a missing source that came
// back unchanged, so that no run had a reason to start.
func describeRest(p *decided) {
	obj := p.obj
	if p.facts.Stack.Suspended {
		// The run in progress was stopped. Otherwise Ready is still true.
		if conditions.Of(obj, infrav1.ConditionReady).Reason == infrav1.ReasonProgressing {
			setReady(obj, metav1.ConditionUnknown, infrav1.ReasonSuspended, p.decision.Message)
		}
		return
	}
	if p.ended != nil {
		return
	}
	if ready := conditions.Of(obj, infrav1.ConditionReady); isOver(ready) || toldOfInputs(obj) {
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonPlannedNoChanges,
			at(infrav1.MessagePlanNoChanges, p.facts.Source.Revision))
	}
}

// isOver reports whether Ready is about something that cannot be true at rest or before a retry.
func isOver(ready metav1.Condition) bool {
	switch ready.Reason {
	case infrav1.ReasonArtifactFailed, infrav1.ReasonVarsGenerationFailed, infrav1.ReasonLockHeld, infrav1.ReasonAccessDenied,
		infrav1.ReasonFieldNotSupported, infrav1.ReasonBackendChanged, infrav1.ReasonStateUnreadable, infrav1.ReasonStateMissing, infrav1.ReasonProgressing,
		infrav1.ReasonSuspended, infrav1.ReasonDependencyNotReady, infrav1.ReasonDependencyCycle, infrav1.ReasonBreakTheGlass,
		infrav1.ReasonInvalidName, infrav1.ReasonStateTakenOver, infrav1.ReasonMoved, infrav1.ReasonReconciliationFailed,
		infrav1.ReasonWaiting, infrav1.ReasonContractMisfit, infrav1.ReasonPolicyRefused:
		return !heldByHealth(ready)
	}
	return false
}

// toldOfInputs reports whether Ready is about missing inputs. Failed runs share some of the
// reasons, so those count only if the last run did not fail.
func toldOfInputs(obj *infrav1.Terraform) bool {
	last := obj.Status.LastRun
	switch conditions.Of(obj, infrav1.ConditionReady).Reason {
	case infrav1.ReasonTemplateGenerationFailed:
		return true
	case infrav1.ReasonInitFailed, infrav1.ReasonNewFailed, infrav1.ReasonPlanFailed:
		return last != nil && last.Status == string(run.OutcomeSucceeded)
	}
	return false
}

func describeWarnings(p *acted) {
	warnings := p.rules.IgnoredFields(&p.obj.Spec)
	if p.config != nil {
		warnings = append(warnings, p.config.Warnings...)
		if p.consumed != nil {
			warnings = append(warnings, p.consumed.Warnings...)
		}
	} else if p.facts.Source.Ready {
		// Without inputs, the module's declarations are unknown.
		warnings = append(warnings, p.keptWarnings()...)
	}
	warnings = append(warnings, p.inventoryWarnings()...)
	warnings = append(warnings, p.notices...)
	if len(warnings) > infrav1.MaxWarnings {
		more := len(warnings) - infrav1.MaxWarnings + 1
		warnings = append(warnings[:infrav1.MaxWarnings-1], fmt.Sprintf("and %d more", more))
	}
	if !slices.Equal(warnings, p.obj.Status.Warnings) {
		for _, w := range warnings {
			if !slices.Contains(p.obj.Status.Warnings, w) {
				p.notes = append(p.notes, note{warning: true, reason: "Warning", action: "Check", message: w})
			}
		}
		p.obj.Status.Warnings = warnings
	}
}

func (p *pass) keptWarnings() []string {
	ignored := p.rules.IgnoredFields(&p.obj.Spec)
	return slices.DeleteFunc(slices.Clone(p.obj.Status.Warnings), func(w string) bool {
		return slices.Contains(ignored, w) || strings.HasPrefix(w, inventoryWarning) || strings.HasPrefix(w, run.NoticePrefix)
	})
}
