// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

const (
	// maxSummary bounds status.summary, in characters.
	maxSummary = 48
	// roomForSummary fits a table of 100 columns: 20 for namespace, 30 for name, READY and AGE.
	roomForSummary = 26
)

// situation has the inputs of a summary: the status, and details of the decision.
type situation struct {
	obj   *infrav1.Terraform
	ready metav1.Condition
	// blocker is the stack to wait for, circuit the open circuit breaker; may be empty.
	blocker, circuit string
}

// summaries are evaluated in order; the first text counts.
var summaries = []func(situation) string{
	summaryOfDeletion,
	summaryOfMove,
	// A run in progress continues when the stack is suspended.
	func(s situation) string { return whenever(s.obj.Status.CurrentRun != nil, summaryOfProgress(s)) },
	func(s situation) string { return whenever(s.obj.Spec.Suspend, "Suspended") },
	summaryOfProgress,
	summaryOfPlan,
	// A pause says more than the last failure.
	summaryOfPause,
	summaryOfSuccess,
	summaryOfFailure,
	// Empty until a pass has ended.
	func(s situation) string { return firstLineOf(s.ready.Message) },
}

// summarize describes the stack's status in a few words.
func summarize(s situation) string {
	s.ready = conditions.Of(s.obj, infrav1.ConditionReady)
	for _, say := range summaries {
		if text := say(s); text != "" {
			return cutTo(text, maxSummary)
		}
	}
	return ""
}

// summary describes the stack's status at the end of a pass.
func (p *decided) summary() string {
	s := situation{obj: p.obj}
	if d := p.decision; d.Reason == decide.ReasonDependencyNotReady || d.Reason == decide.ReasonWaiting {
		s.blocker = d.Subject
	}
	if c := p.facts.Circuit; c != nil {
		s.circuit = c.Name
	}
	return summarize(s)
}

// summaryOfMove: a copy that a move left behind, or a stack of another owner, is not just suspended.
func summaryOfMove(s situation) string {
	if h, handed := moving.HandedOver(s.obj); handed {
		return h.Summary()
	}
	mark, moved := moving.MovedTo(s.obj)
	return whenever(moved, "Moved to "+cmp.Or(mark.Name, "another home"))
}

func whenever(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func summaryOfDeletion(s situation) string {
	switch {
	case s.obj.DeletionTimestamp.IsZero():
		return ""
	case s.obj.Spec.Suspend && s.obj.Status.CurrentRun == nil:
		return "Deletion suspended"
	case s.ready.Reason == infrav1.ReasonDeletionBlockedByDependants:
		return "Deletion blocked"
	}
	if by := s.policiesInShort(); by != "" {
		return "Deletion " + by
	}
	if word := failures[s.ready.Reason]; word != "" {
		return "Deleting: " + strings.ToLower(word[:1]) + word[1:]
	}
	return "Deleting"
}

func summaryOfProgress(s situation) string {
	if s.ready.Reason != infrav1.ReasonProgressing {
		return ""
	}
	switch message := s.ready.Message; {
	case message == infrav1.MessagePlanning:
		return "Planning"
	case message == infrav1.MessageApplying:
		return "Applying"
	case message == infrav1.MessageCheckingHealth:
		return "Checking health"
	case strings.HasPrefix(message, run.WaitsForState):
		return "State cannot be stored"
	case strings.HasPrefix(message, run.WaitsForPod):
		return "Waiting for a Pod"
	case strings.HasPrefix(message, run.WaitsForReport):
		return "Pod does not report"
	case strings.HasPrefix(message, run.WaitsForTool):
		return "Downloading its tool"
	}
	return "In progress"
}

// summaryOfPlan describes a pending or unapplied plan. "Failed" is about the last apply.
func summaryOfPlan(s situation) string {
	p, changes := &s.obj.Status.Plan, cmp.Or(s.obj.Status.Plan.Summary, "changes")
	failed := s.obj.Status.LastFailedApply != nil
	switch {
	case s.ready.Reason == infrav1.ReasonDriftDetected && failed:
		return "Failed; drifted " + changes
	case s.ready.Reason == infrav1.ReasonDriftDetected:
		return "Drifted: " + changes
	case s.ready.Reason == infrav1.ReasonPlanRejected:
		return "Plan rejected"
	case s.ready.Reason == infrav1.ReasonPolicyRefused && p.Pending != "":
		by := cmp.Or(s.policiesInShort(), "refused by policy")
		return strings.ToUpper(by[:1]) + by[1:] + ": " + changes
	case s.ready.Reason == infrav1.ReasonContractBroken && s.ready.Status == metav1.ConditionUnknown:
		return "Breaks a contract: " + changes
	case s.ready.Reason != infrav1.ReasonPlannedWithChanges || p.Pending == "":
		return ""
	case s.obj.Spec.PlanOnly || s.obj.DriftOnly():
		return "Planned: " + changes
	case p.HeldBy != "" && failed:
		return "Failed; held " + changes
	case p.HeldBy != "":
		return "Plan held: " + changes
	case failed && s.obj.HeldByPolicy():
		return "Failed; held " + changes
	case failed:
		return "Failed; pending " + changes
	case s.obj.HeldByPolicy():
		by := cmp.Or(s.policiesInShort(), "waits for a person")
		return strings.ToUpper(by[:1]) + by[1:] + ": " + changes
	}
	return "Plan pending: " + changes
}

func summaryOfPause(s situation) string {
	switch {
	case s.ready.Reason == infrav1.ReasonBreakTheGlass:
		return "Held for manual work"
	case s.ready.Reason == infrav1.ReasonDependencyNotReady, s.ready.Reason == infrav1.ReasonWaiting:
		return "Waiting for " + s.blockerInShort()
	case conditions.Of(s.obj, infrav1.ConditionPaused).Status == metav1.ConditionTrue:
		return "Paused: " + cmp.Or(s.circuit, "outage")
	}
	return ""
}

// blockerInShort omits the stack's own namespace if there is no room.
func (s situation) blockerInShort() string {
	short := strings.TrimPrefix(s.blocker, s.obj.Namespace+"/")
	if len("Waiting for ")+len(s.blocker) <= roomForSummary {
		short = s.blocker
	}
	return cmp.Or(short, "dependencies")
}

func summaryOfSuccess(s situation) string {
	switch {
	case s.ready.Status != metav1.ConditionTrue:
		return ""
	case s.ready.Reason == infrav1.ReasonNoDrift:
		return "No drift"
	case strings.HasPrefix(s.ready.Message, infrav1.MessageNothingToDestroy):
		return "Nothing to destroy"
	case conditions.Of(s.obj, infrav1.ConditionPlan).Status == metav1.ConditionFalse, s.ready.Reason == infrav1.ReasonPlannedNoChanges:
		return "No changes"
	case s.obj.Spec.Destroy:
		return "Destroyed"
	}
	return "Applied"
}

// failures are the words for reasons. Ready's message has the details.
var failures = map[string]string{
	infrav1.ReasonAccessDenied:              "Access denied",
	infrav1.ReasonArtifactFailed:            "Source not ready",
	infrav1.ReasonTemplateGenerationFailed:  "Template failed",
	infrav1.ReasonVarsGenerationFailed:      "Inputs not ready",
	infrav1.ReasonSelectWorkspaceFailed:     "Workspace failed",
	infrav1.ReasonNewFailed:                 "Tool not usable",
	infrav1.ReasonInitFailed:                "Init failed",
	infrav1.ReasonPlanFailed:                "Plan failed",
	infrav1.ReasonPostPlanningWebhookFailed: "Plan refused by webhook",
	infrav1.ReasonPolicyRefused:             "Refused by policy",
	infrav1.ReasonApplyFailed:               "Apply failed",
	infrav1.ReasonDestroyFailed:             "Destroy failed",
	infrav1.ReasonDriftDetectionFailed:      "Drift check failed",
	infrav1.ReasonOutputsWritingFailed:      "Outputs not written",
	infrav1.ReasonOutputFailed:              "Outputs not readable",
	infrav1.ReasonHealthChecksFailed:        "Health check failed",
	infrav1.ReasonLockHeld:                  "State locked",
	infrav1.ReasonDependencyCycle:           "Dependency cycle",
	infrav1.ReasonFieldNotSupported:         "Field not supported",
	infrav1.ReasonRunCanceled:               "Run canceled",
	infrav1.ReasonRunInterrupted:            "Run interrupted",
	infrav1.ReasonStateMissing:              "State missing",
	infrav1.ReasonStateUnreadable:           "State not readable",
	infrav1.ReasonBackendChanged:            "Backend changed",
	infrav1.ReasonStateTakenOver:            "State of a deleted stack",
	infrav1.ReasonStateMoved:                "State changed meanwhile",
	infrav1.ReasonInvalidName:               "Invalid name",
	infrav1.ReasonReconciliationFailed:      "Reconciliation failed",
	infrav1.ReasonRetryLimitReached:         "Retries used up",
	infrav1.ReasonContractMisfit:            "Contract does not fit",
	infrav1.ReasonContractBroken:            "Contract not published",
}

func summaryOfFailure(s situation) string {
	if s.ready.Status != metav1.ConditionFalse {
		return ""
	}
	return cmp.Or(failures[s.ready.Reason], "Failed: "+firstLineOf(s.ready.Message))
}

func firstLineOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// cutTo cuts a text to a number of characters and marks the cut.
func cutTo(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return strings.TrimSpace(string(runes[:limit-1])) + "…"
	}
	return text
}
