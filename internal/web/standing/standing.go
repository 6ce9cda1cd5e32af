// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package standing says how a stack stands: one word of a small vocabulary, and one sentence. All
// pages, filters and pictures use these words, so that a stack is never two things at once.
//
// It is pure: a stack in, words out.
package standing

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// State is one word for a stack. It is also the class of its mark in the stylesheet.
type State string

// The states, those first that need somebody.
const (
	// Failed: the last run or step failed, and the stack does not match its spec.
	Failed State = "failed"
	// Pending: a plan waits for a person.
	Pending State = "pending"
	// Refused: policies refuse the plan, or a person has rejected it.
	Refused State = "refused"
	// Drift: the infrastructure differs from the last apply, and nothing repairs it by itself.
	Drift State = "drift"
	// Running: a run executes or waits for its turn.
	Running State = "running"
	// Waiting: for a dependency, an artifact, a lock or a circuit breaker.
	Waiting State = "waiting"
	// Deleting: the stack is being deleted.
	Deleting State = "deleting"
	// Suspended: a person has stopped it.
	Suspended State = "suspended"
	// Ready: it matches its spec.
	Ready State = "ready"
)

// States lists all states in their order.
func States() []State {
	return []State{Failed, Pending, Refused, Drift, Running, Waiting, Deleting, Suspended, Ready}
}

// Rank is the place of a state in the order; unknown states come last.
func (s State) Rank() int {
	if i := slices.Index(States(), s); i >= 0 {
		return i
	}
	return len(States())
}

// Of returns the state of a stack.
func Of(t *infrav1.Terraform) State {
	ready := condition(t, infrav1.ConditionReady)
	switch {
	case !t.DeletionTimestamp.IsZero() && ready.Status != metav1.ConditionFalse:
		return Deleting
	case t.Spec.Suspend:
		return Suspended
	case t.Status.CurrentRun != nil:
		return Running
	case t.Status.Plan.Pending != "" && (t.RefusedByPolicy() || t.Annotations[infrav1.AnnotationRejected] == t.Status.Plan.Pending):
		return Refused
	case t.AwaitsApproval():
		return Pending
	case slices.Contains(waits, ready.Reason) || condition(t, infrav1.ConditionPaused).Status == metav1.ConditionTrue:
		return Waiting
	case ready.Reason == infrav1.ReasonDriftDetected:
		return Drift
	case ready.Status == metav1.ConditionTrue:
		return Ready
	case ready.Status == metav1.ConditionFalse:
		return Failed
	}
	return Running
}

// waits are the reasons of Ready that are no failures.
var waits = []string{infrav1.ReasonDependencyNotReady, infrav1.ReasonWaiting, infrav1.ReasonLockHeld, infrav1.ReasonCircuitOpen,
	infrav1.ReasonRunnerQuotaExhausted, infrav1.ReasonMoved, infrav1.ReasonDeletionBlockedByDependants}

// Sentence says how a stack stands, and why.
func Sentence(t *infrav1.Terraform) string {
	ready := condition(t, infrav1.ConditionReady)
	text := strings.TrimSpace(ready.Message)
	switch s := Of(t); {
	case s == Suspended:
		text = "Suspended: Yuba does nothing until it is resumed."
	case s == Pending && ready.Status == metav1.ConditionUnknown:
		text = "The plan waits for approval: " + cmp.Or(t.Status.Plan.Summary, "its changes are not counted") + "."
	case s == Running && t.Status.CurrentRun != nil:
		text = "Run " + t.Status.CurrentRun.ID + " (" + t.Status.CurrentRun.Operation + ") is " + t.Status.CurrentRun.Status + "."
	case text == "" && t.Status.ObservedGeneration <= 0:
		text = "Not reconciled yet."
	}
	if paused := condition(t, infrav1.ConditionPaused); paused.Status == metav1.ConditionTrue && paused.Message != "" {
		text = paused.Message
	}
	return cmp.Or(text, t.Status.Summary)
}

// Since is when the stack's condition Ready last changed its status.
func Since(t *infrav1.Terraform) metav1.Time {
	return condition(t, infrav1.ConditionReady).LastTransitionTime
}

func condition(t *infrav1.Terraform, name string) metav1.Condition {
	if c := meta.FindStatusCondition(t.Status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown}
}
