// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
)

func deletionAwaitsRun(f Facts) (Decision, bool) {
	c := f.Current
	if c == nil {
		return Decision{}, false
	}
	switch {
	case c.Misplaced && !c.Canceled:
		return leavePlace(c), true
	case c.Apply || c.Canceled:
	case c.Purpose != PurposeDelete:
		return Decision{Verb: VerbCancel, Subject: c.ID, Reason: ReasonDeleting, Message: "The stack is being deleted"}, true
	case f.Stack.Suspended:
		return Decision{Verb: VerbCancel, Subject: c.ID, Reason: ReasonSuspended, Message: "The stack was suspended while its destruction was being planned"}, true
	}
	return Decision{Verb: VerbAwaitRun, Subject: c.ID, Reason: ReasonProgressing, Message: "Deletion in progress"}, true
}

func deletionBlocked(f Facts) (Decision, bool) {
	if len(f.Dependants) == 0 {
		return Decision{}, false
	}
	return Decision{Verb: VerbFail, Reason: ReasonDeletionBlocked, NextCheck: lookAgain(f), Message: fmt.Sprintf(
		"Deletion in progress, but blocked. Please delete %s to resume ...", strings.Join(f.Dependants, ", "))}, true
}

func deletionKeepsResources(f Facts) (Decision, bool) {
	return Decision{Verb: VerbRelease, Reason: ReasonDeleted, Message: "Resources are kept"}, !f.Stack.DestroyOnDeletion
}

// deletionOfNothing: a custom backend may contain what an earlier controller applied. Believe
// "never applied" only if a destroy could not run.
func deletionOfNothing(f Facts) (Decision, bool) {
	nothing := !f.Stack.AppliedOnce && !f.StateExists && f.StateProblem == ""
	if f.Stack.OwnBackend {
		nothing = !f.Stack.AppliedOnce && !runnable(f)
	}
	return Decision{Verb: VerbRelease, Reason: ReasonNothingLeftToDelete, Message: "Nothing was ever applied"}, nothing
}

func deletionDone(f Facts) (Decision, bool) {
	return Decision{Verb: VerbRelease, Reason: ReasonDeleted, Message: "Destroy applied successfully"}, destroyed(f)
}

func destroyed(f Facts) bool {
	l := f.Last
	return l != nil && l.Purpose == PurposeDelete && !unsuccessful(l) && !l.Canceled && !l.OnlyPlanned
}

func deletionSuspended(f Facts) (Decision, bool) {
	return Decision{Verb: VerbWait, Reason: ReasonSuspended, Message: fmt.Sprintf(
		"Deletion is suspended by spec.suspend. To go on: yuba resume %s", f.Stack.Call)}, f.Stack.Suspended && !destroyed(f)
}

// deletionBackoff waits for the retry interval, except after a request or a changed configuration.
// After a failure with the current artifact, one attempt with the kept one follows at once.
func deletionBackoff(f Facts) (Decision, bool) {
	l := f.Last
	if l == nil || l.Purpose != PurposeDelete || !unsuccessful(l) || requested(f) || !l.Stopped && (retryDue(f) || triesKept(f)) {
		return Decision{}, false
	}
	if !l.UsedKept && f.Config != "" && l.Config != f.Config {
		return Decision{}, false
	}
	if l.Stopped {
		return Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: StoppedMessage}, true
	}
	return Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: "Destroy failed; retrying",
		NextCheck: retryAt(f)}, true
}

// triesKept: the last attempt with the current artifact and inputs did not reach an apply.
func triesKept(f Facts) bool {
	l := f.Last
	tried := l != nil && l.Purpose == PurposeDelete && l.Failed && !l.UsedKept && !l.ApplyStarted
	return tried && f.Kept && (f.Config == "" || f.Config == l.Config)
}

func runnable(f Facts) bool { return f.Config != "" || f.Kept }

func deletionImpossible(f Facts) (Decision, bool) {
	if runnable(f) {
		return Decision{}, false
	}
	reason, problem := ReasonArtifactFailed, f.Source.Problem
	if f.Source.Ready {
		reason, problem = orDefault(f.Inputs.Reason, ReasonVarsGeneration), f.Inputs.Problem
	}
	return Decision{Verb: VerbFail, Reason: reason,
		Message: fmt.Sprintf("Cannot destroy: %s. The source and inputs of the last apply are gone, too. "+
			"Restore the source, or set destroyResourcesOnDeletion: false to delete the object and keep its resources", problem),
		NextCheck: lookAgain(f)}, true
}

// deletionDestroys prefers the current source and inputs, because of their credentials. If they are
// missing or did not reach an apply, it uses those of the last apply. Where policies judge, the plan is
// kept until they have.
func deletionDestroys(f Facts) (Decision, bool) {
	d := Decision{Verb: VerbPlanAndApply, Reason: ReasonDeleting, Message: "Deletion in progress",
		Purpose: PurposeDelete, Destroy: true, UseKept: f.Config == "" || triesKept(f),
		Again: f.Last != nil && f.Last.Purpose == PurposeDelete && unsuccessful(f.Last)}
	if f.Policy.Bound {
		d.Verb = VerbPlan
	}
	return d, true
}
