// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"time"
)

// Verb is what to do with a HelmRelease.
type Verb string

// The verbs.
const (
	// Nothing waits for a change, or until NextCheck.
	Nothing Verb = "nothing"
	// Wait waits, and the status says for what.
	Wait Verb = "wait"
	// Fail waits for a change by the user, and the status says which.
	Fail Verb = "fail"
	// Attempt begins an attempt.
	Attempt Verb = "attempt"
	// Delete uninstalls the release of a deleted HelmRelease, unless that is suspended or moved, and lets
	// the object go.
	Delete Verb = "delete"
	// Cancel ends the running attempt.
	Cancel Verb = "cancel"
)

// Decision is the result of When.
type Decision struct {
	Verb            Verb
	Reason, Message string
	NextCheck       time.Time
}

// String implements fmt.Stringer.
func (d Decision) String() string { return strings.TrimSpace(string(d.Verb) + " " + d.Message) }

// Facts are what When knows.
type Facts struct {
	Now                 time.Time
	Deleting, Suspended bool
	// Moved says where the object was moved; empty for here.
	Moved string
	// Busy is true while an attempt runs, and Removing if it is the uninstall of a deleted object.
	Busy, Removing bool
	// Invalid is why the spec cannot be used, with its reason.
	Invalid, InvalidReason string
	Chart                  Chart
	Dependencies           []Dependency
	Cycle                  []string
	// Key is the digest of the inputs now; Last describes the last attempt.
	Key  string
	Last Last
	// Requested and Handled are the last and the handled request of the user.
	Requested, Handled string
	Interval, Retry    time.Duration
}

// Chart is the chart of a HelmRelease.
type Chart struct {
	// Name is the chart's source in messages.
	Name string
	// Denied, Missing and Waiting are why there is no artifact.
	Denied, Missing, Waiting string
}

// Dependency is another HelmRelease.
type Dependency struct {
	Name string
	// Denied and Missing are true for a name in another namespace, and for none.
	Denied, Missing, Ready bool
	// Invalid is an expression that cannot be used; Failure one that failed.
	Invalid, Failure string
}

// Last is the last attempt of this process.
type Last struct {
	Known bool
	Key   string
	Ended time.Time
	// Removal is true if it was to uninstall a deleted object.
	Removal bool
	// Failed is true if the release is not what it should be; Final if only a change may help.
	Failed, Final bool
	// RetryAfter is a delay that the spec gives for failures; 0 for the usual.
	RetryAfter time.Duration
}

// reasons of conditions, as in Flux.
const (
	reasonSource     = "SourceNotReady"
	reasonDependency = "DependencyNotReady"
	reasonAccess     = "AccessDenied"
	reasonCycle      = "DependencyCycle"
)

// When decides whether an attempt is due. The first rule that matches wins.
func When(f Facts) Decision {
	switch {
	// Another home works on it. A deleted object must not stay: the controller lets it go, and keeps the release.
	case f.Moved != "" && !f.Deleting:
		return Decision{Verb: Nothing, Message: f.Moved}
	// A deleted object does not wait for a hook of its last upgrade.
	case f.Deleting && f.Busy && !f.Removing:
		return Decision{Verb: Cancel}
	case f.Busy:
		return Decision{Verb: Nothing, Message: "an attempt is running"}
	case f.Deleting:
		return whenDeleting(f)
	case f.Suspended:
		return Decision{Verb: Nothing, Message: "suspended"}
	case f.Invalid != "":
		return Decision{Verb: Fail, Reason: f.InvalidReason, Message: f.Invalid}
	case len(f.Cycle) > 0:
		return Decision{Verb: Fail, Reason: reasonCycle, Message: "spec.dependsOn is a cycle: " + strings.Join(f.Cycle, " -> ")}
	}
	if d, waits := dependencies(f); waits {
		return d
	}
	switch {
	case f.Chart.Denied != "":
		return Decision{Verb: Fail, Reason: reasonAccess, Message: f.Chart.Denied}
	case f.Chart.Missing != "":
		return Decision{Verb: Wait, Reason: reasonSource, Message: f.Chart.Missing}
	case f.Chart.Waiting != "":
		return Decision{Verb: Wait, Reason: reasonSource, Message: f.Chart.Waiting}
	}
	return due(f)
}

// whenDeleting lets a failed uninstall rest, as any failed attempt.
func whenDeleting(f Facts) Decision {
	if next := f.Last.Ended.Add(f.Retry); f.Last.Known && f.Last.Removal && f.Last.Failed && f.Now.Before(next) {
		return Decision{Verb: Nothing, Message: "the uninstall failed", NextCheck: next}
	}
	return Decision{Verb: Delete}
}

// dependencies says which dependency is not ready.
func dependencies(f Facts) (Decision, bool) {
	for _, d := range f.Dependencies {
		switch {
		case d.Invalid != "":
			return Decision{Verb: Fail, Reason: "InvalidCELExpression", Message: d.Invalid}, true
		case d.Denied:
			return Decision{Verb: Fail, Reason: reasonAccess, Message: fmt.Sprintf("can't access 'HelmRelease/%s', cross-namespace references have been blocked", d.Name)}, true
		case d.Missing:
			return waits(f, fmt.Sprintf("dependency '%s' does not exist", d.Name)), true
		case d.Failure != "":
			return waits(f, fmt.Sprintf("dependency '%s': %s", d.Name, d.Failure)), true
		case !d.Ready:
			return waits(f, fmt.Sprintf("dependency '%s' is not ready", d.Name)), true
		}
	}
	return Decision{}, false
}

// waits waits for a dependency, whose changes are watched.
func waits(_ Facts, message string) Decision {
	return Decision{Verb: Wait, Reason: reasonDependency, Message: message}
}

// due decides whether the time for an attempt has come.
func due(f Facts) Decision {
	l := f.Last
	retry := f.Retry
	if l.RetryAfter > 0 {
		retry = l.RetryAfter
	}
	next := l.Ended.Add(f.Interval)
	if l.Failed && !l.Final {
		next = l.Ended.Add(retry)
	}
	switch {
	case !l.Known:
		return Decision{Verb: Attempt, Message: "the server has started, or the release is new"}
	case f.Requested != f.Handled:
		return Decision{Verb: Attempt, Message: "a reconciliation was requested"}
	case l.Key != f.Key:
		return Decision{Verb: Attempt, Message: "an input has changed"}
	case !f.Now.Before(next):
		return Decision{Verb: Attempt, Message: "the interval is over"}
	}
	return Decision{Verb: Nothing, NextCheck: next}
}
