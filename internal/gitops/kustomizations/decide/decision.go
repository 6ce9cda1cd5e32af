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
	// VerbRest: nothing to do.
	VerbRest Verb = "rest"
	// VerbWait: wait for something else, which is watched or checked again at NextCheck.
	VerbWait Verb = "wait"
	// VerbFail: the Kustomization must be changed.
	VerbFail Verb = "fail"
	// VerbApply: build, and apply changed objects.
	VerbApply Verb = "apply"
	// VerbCheckHealth: check the health of the applied objects.
	VerbCheckHealth Verb = "check-health"
	// VerbDelete: delete objects by the deletion policy, and remove the finalizer.
	VerbDelete Verb = "delete"
)

// Reasons of decisions, if possible Flux's.
const (
	ReasonDeleted              = "Deleted"
	ReasonSuspended            = "Suspended"
	ReasonMoved                = "Moved"
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
	// Reason is for machines, Message for people.
	Reason  string
	Message string
	// Full applies all objects, also unchanged ones.
	Full bool
	// NextCheck is when to decide again; zero if only an event changes the decision.
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
