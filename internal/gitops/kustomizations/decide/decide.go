// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"time"
)

// rule returns a decision; ok is false if it does not apply.
type rule func(Facts) (d Decision, ok bool)

// rules in order; the first one that applies counts.
var rules = []rule{
	// Deletion proceeds despite other problems.
	deleting,
	suspended,
	// Even if somebody resumed it.
	moved,
	// An invalid spec does not need a source.
	invalid,
	// Further facts depend on the source's revision.
	sourceMissing,
	inCircle,
	// Dependencies block only the next apply.
	dependencies,
}

// needs are the reasons to act, or to wait.
var needs = []rule{
	// A request overrides all delays.
	requested,
	changed,
	failed,
	restarted,
	drifted,
	intervalOver,
	health,
}

// Decide returns the next step.
func Decide(f Facts) Decision {
	if d, ok := first(rules, f); ok {
		return d
	}
	return need(f)
}

func first(rules []rule, f Facts) (Decision, bool) {
	for _, r := range rules {
		if d, ok := r(f); ok {
			return d, true
		}
	}
	return Decision{}, false
}

func need(f Facts) Decision {
	if d, ok := first(needs, f); ok {
		return d
	}
	return Decision{Verb: VerbRest, Reason: ReasonUpToDate, NextCheck: f.Now.Add(f.Kustomization.Interval)}
}

func deleting(f Facts) (Decision, bool) {
	return Decision{Verb: VerbDelete, Reason: ReasonDeleted}, f.Kustomization.Deleting
}

func suspended(f Facts) (Decision, bool) {
	return Decision{Verb: VerbRest, Reason: ReasonSuspended, Message: "Reconciliation is suspended"}, f.Kustomization.Suspended
}

func moved(f Facts) (Decision, bool) {
	return Decision{Verb: VerbWait, Reason: ReasonMoved, Message: f.Kustomization.Moved}, f.Kustomization.Moved != ""
}

func invalid(f Facts) (Decision, bool) {
	if f.Kustomization.Invalid != "" {
		return Decision{Verb: VerbFail, Reason: f.Kustomization.InvalidReason, Message: f.Kustomization.Invalid}, true
	}
	for _, d := range f.Dependencies {
		if d.Invalid != "" {
			return Decision{Verb: VerbFail, Reason: ReasonInvalidCELExpression, Message: d.Invalid}, true
		}
	}
	return Decision{}, false
}

func sourceMissing(f Facts) (Decision, bool) {
	s := f.Source
	switch {
	case s.Denied:
		return Decision{Verb: VerbFail, Reason: ReasonAccessDenied, Message: s.Reason}, true
	case s.Missing:
		return Decision{Verb: VerbWait, Reason: ReasonArtifactFailed, Message: s.Reason,
			NextCheck: f.Now.Add(f.Kustomization.RetryInterval)}, true
	case s.Revision == "":
		return Decision{Verb: VerbWait, Reason: ReasonArtifactFailed,
			Message: fmt.Sprintf("Source artifact not found: %s does not have one yet", s.Name)}, true
	}
	return Decision{}, false
}

func inCircle(f Facts) (Decision, bool) {
	if len(f.Cycle) == 0 {
		return Decision{}, false
	}
	return Decision{Verb: VerbFail, Reason: ReasonDependencyCycle, Message: "These Kustomizations depend on each other in a circle: " +
		strings.Join(f.Cycle, " → ") + " → " + f.Cycle[0] + ". Remove one of the dependsOn"}, true
}

func dependencies(f Facts) (Decision, bool) {
	if len(f.Dependencies) == 0 || need(f).Verb != VerbApply {
		return Decision{}, false
	}
	for _, d := range f.Dependencies {
		if message := unready(d); message != "" {
			return Decision{Verb: VerbWait, Reason: ReasonDependencyNotReady, Message: message,
				// Dependencies are watched, but expressions may depend on more.
				NextCheck: f.Now.Add(dependencyPause)}, true
		}
	}
	return Decision{}, false
}

// dependencyPause is the interval of checks of dependencies. A check makes no request.
const dependencyPause = 30 * time.Second

// unready returns why a dependency is not ready; empty if it is.
func unready(d Dependency) string {
	switch {
	case d.Denied:
		return fmt.Sprintf("dependency '%s' is in another namespace, and cross-namespace references have been blocked; --allow-cross-namespace of the server allows them", d.Name)
	case d.Missing:
		return fmt.Sprintf("dependency '%s' not found", d.Name)
	case d.Failure != "":
		return fmt.Sprintf("dependency '%s': %s", d.Name, d.Failure)
	case d.ByExpression && !d.Ready:
		return fmt.Sprintf("dependency '%s' is not ready according to readyExpr eval", d.Name)
	case !d.Ready:
		return fmt.Sprintf("dependency '%s' is not ready", d.Name)
	case !d.ByExpression && d.SameSource && !d.SameRevision:
		return fmt.Sprintf("dependency '%s' revision is not up to date", d.Name)
	}
	return ""
}

func requested(f Facts) (Decision, bool) {
	k := f.Kustomization
	return Decision{Verb: VerbApply, Reason: ReasonRequested, Full: true}, k.Requested != "" && k.Requested != k.Handled
}

func changed(f Facts) (Decision, bool) {
	a := f.Applied
	return Decision{Verb: VerbApply, Reason: ReasonChanged}, a.Known && a.Key != a.WantedKey
}

// failed delays the next attempt. Failed health checks repeat on changes and after retryInterval.
func failed(f Facts) (Decision, bool) {
	a := f.Applied
	switch {
	case !a.Known || !a.Failed:
		return Decision{}, false
	case a.Freed:
		return Decision{Verb: VerbApply, Reason: ReasonFreed}, true
	case a.Lasting && a.Dirty > 0:
		// A held step does not prevent the correction of drift.
		return Decision{}, false
	case a.Lasting:
		return Decision{Verb: VerbRest, Reason: ReasonFailedForGood}, true
	}
	if due := a.At.Add(f.Kustomization.RetryInterval); f.Now.Before(due) {
		return Decision{Verb: VerbRest, Reason: ReasonRetryPending, NextCheck: due}, true
	}
	return Decision{Verb: VerbApply, Reason: ReasonRetryDue}, true
}

func restarted(f Facts) (Decision, bool) {
	return Decision{Verb: VerbApply, Reason: ReasonRestarted, Full: true}, !f.Applied.Known
}

// driftsAtOnce is how many consecutive drifts are corrected at once. Then delays grow: another
// controller may keep changing the object.
const driftsAtOnce = 5

func drifted(f Facts) (Decision, bool) {
	a := f.Applied
	if a.Dirty == 0 {
		return Decision{}, false
	}
	if more := a.Drifts - driftsAtOnce; more > 0 {
		pause := min(time.Second<<min(more, 20), f.Kustomization.Interval)
		if due := a.Drifted.Add(pause); f.Now.Before(due) {
			return Decision{Verb: VerbRest, Reason: ReasonDriftAgain, NextCheck: due}, true
		}
	}
	return Decision{Verb: VerbApply, Reason: ReasonDrift, Message: fmt.Sprintf("%d objects were changed", a.Dirty)}, true
}

// intervalOver applies everything at intervals if the cluster is not watched.
func intervalOver(f Facts) (Decision, bool) {
	k := f.Kustomization
	return Decision{Verb: VerbApply, Reason: ReasonIntervalOver, Full: true},
		!k.Watched && (!f.Health.Waiting || f.Health.Failed) && !f.Now.Before(f.Applied.At.Add(k.Interval))
}

// healthPause is the interval of checks of objects that are not watched.
const healthPause = 5 * time.Second

func health(f Facts) (Decision, bool) {
	h, k := f.Health, f.Kustomization
	switch {
	case !h.Checked:
		return Decision{}, false
	case h.Changed, h.Waiting && h.Polled && !h.Failed && !f.Now.Before(h.Looked.Add(healthPause)):
		return Decision{Verb: VerbCheckHealth, Reason: ReasonHealthChanged}, true
	case !h.Waiting && h.Polled && !f.Now.Before(h.Looked.Add(k.Interval)):
		return Decision{Verb: VerbCheckHealth, Reason: ReasonIntervalOver}, true
	case h.Waiting && !h.Failed && !f.Now.Before(h.Since.Add(k.Timeout)):
		return Decision{Verb: VerbCheckHealth, Reason: ReasonHealthTimeout}, true
	case h.Waiting && !h.Failed:
		next := h.Since.Add(k.Timeout)
		if pause := h.Looked.Add(healthPause); h.Polled && pause.Before(next) {
			next = pause
		}
		return Decision{Verb: VerbRest, Reason: ReasonHealthPending, NextCheck: next}, true
	case h.Failed:
		due := h.Looked.Add(k.RetryInterval)
		if !f.Now.Before(due) {
			return Decision{Verb: VerbCheckHealth, Reason: ReasonRetryDue}, true
		}
		return Decision{Verb: VerbRest, Reason: ReasonRetryPending, NextCheck: due}, true
	}
	return Decision{}, false
}
