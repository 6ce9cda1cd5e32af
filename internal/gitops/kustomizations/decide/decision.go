// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// Verb is what to do.
type Verb string

const (
	// VerbRest: all is as it should be.
	VerbRest Verb = "rest"
	// VerbWait: something outside must happen first; it is watched or looked at again at NextCheck.
	VerbWait Verb = "wait"
	// VerbFail: the Kustomization cannot go on before somebody changes it.
	VerbFail Verb = "fail"
	// VerbApply: build, and apply what differs.
	VerbApply Verb = "apply"
	// VerbCheckHealth: look at the health of what was applied.
	VerbCheckHealth Verb = "check-health"
	// VerbDelete: remove what the deletion policy says and let the object go.
	VerbDelete Verb = "delete"
)

// Reasons that decisions carry. Flux's words where it has one.
const (
	ReasonDeleted              = "Deleted"
	ReasonSuspended            = "Suspended"
	ReasonInvalidCELExpression = "InvalidCELExpression"
	ReasonAccessDenied         = "AccessDenied"
	ReasonArtifactFailed       = "ArtifactFailed"
	ReasonDependencyCycle      = "DependencyCycle"
	ReasonDependencyNotReady   = "DependencyNotReady"
	ReasonRequested            = "ReconcileRequested"
	ReasonRestarted            = "Restarted"
	ReasonChanged              = "Changed"
	ReasonRetryDue             = "RetryDue"
	ReasonRetryPending         = "RetryPending"
	ReasonFailedForGood        = "FailedForGood"
	ReasonDrift                = "Drift"
	ReasonDriftAgain           = "DriftAgain"
	ReasonFreed                = "Freed"
	ReasonIntervalOver         = "IntervalOver"
	ReasonHealthChanged        = "HealthChanged"
	ReasonHealthTimeout        = "HealthTimeout"
	ReasonHealthPending        = "HealthPending"
	ReasonUpToDate             = "UpToDate"
)

// Decision is one step for one Kustomization.
type Decision struct {
	Verb Verb
	// Reason is a word for machines, Message a sentence for people.
	Reason  string
	Message string
	// Full asks for every object to be applied, also those that are as they were left.
	Full bool
	// NextCheck is when to look again even if nothing happens; zero means that only an event matters.
	NextCheck time.Time
}

func (d Decision) String() string {
	s := string(d.Verb)
	if d.Reason != "" {
		s += " (" + d.Reason + ")"
	}
	if d.Message != "" {
		s += ": " + d.Message
	}
	if !d.NextCheck.IsZero() {
		s += fmt.Sprintf("; next check %s", d.NextCheck.UTC().Format(time.RFC3339))
	}
	return s
}
