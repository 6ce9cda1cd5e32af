// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	newRevision     = "main@sha1:1a2b3c4d5e6f"
	oldRevision     = "main@sha1:000000000000"
	everyTenMinutes = 10 * time.Minute
	afterFifteen    = 15 * time.Second
	present         = "sha256:present"
	other           = "sha256:other"
)

// nextDriftCheck is the next drift check of a settled stack; the last was a minute ago.
var nextDriftCheck = noon.Add(9 * time.Minute)

// given builds facts; each method changes one thing about the stack.
type given struct{ facts Facts }

// fresh is a manual stack before its first plan, with a ready source and inputs.
func fresh() *given {
	return &given{Facts{
		Now: noon,
		Stack: Stack{
			Generation: 1, PlannedGeneration: 1, Mode: ModeManual, DetectDrift: true,
			Interval: everyTenMinutes, RetryInterval: afterFifteen,
		},
		Source: Source{Ready: true, Revision: newRevision},
		Inputs: Inputs{Ready: true},
		Config: present,
	}}
}

// settled is a manual stack, applied and checked a minute ago.
func settled() *given {
	return fresh().with(func(f *Facts) {
		f.Stack.PlannedConfig, f.Stack.AppliedOnce, f.Stack.LastAppliedPlan = present, true, "plan-main-0"
		f.StateSerial, f.StateKnown, f.StateExists, f.Kept = 7, true, true, true
		f.LastDriftCheck = noon.Add(-time.Minute)
		f.Last = &Run{ID: "run-1", Purpose: PurposeDeploy, Apply: true, ApplyStarted: true, Config: present,
			Finished: noon.Add(-time.Minute)}
	})
}

// awaiting is a stack with a pending plan that is a minute old.
func awaiting(id string) *given {
	return settled().with(func(f *Facts) {
		f.Pending = &Plan{ID: id, Config: present, StateSerial: 7, Usable: true}
		f.Last.Apply, f.Last.ApplyStarted = false, false
	})
}

func (g *given) with(change func(*Facts)) *given { change(&g.facts); return g }

func (g *given) mode(m Mode) *given         { g.facts.Stack.Mode = m; return g }
func (g *given) auto() *given               { return g.mode(ModeAuto) }
func (g *given) disabled() *given           { return g.mode(ModeDisabled) }
func (g *given) forced() *given             { g.facts.Stack.Force = true; return g }
func (g *given) planOnly() *given           { g.facts.Stack.PlanOnly = true; return g }
func (g *given) approving(id string) *given { g.facts.Stack.Approved = id; return g }
func (g *given) rejecting(id string) *given { g.facts.Stack.Rejected = id; return g }
func (g *given) toDestroy() *given          { g.facts.Stack.Destroy = true; return g }
func (g *given) suspended() *given {
	g.facts.Stack.Suspended, g.facts.Stack.Call = true, "vpc -n team"
	return g
}
func (g *given) ownBackend() *given    { g.facts.Stack.OwnBackend = true; return g }
func (g *given) ignoringDrift() *given { g.facts.Stack.DetectDrift = false; return g }
func (g *given) config(digest string) *given {
	g.facts.Config = digest
	return g
}

// movable: the configuration may differ only because modules have moved.
func (g *given) movable() *given { g.facts.OnlyModules = true; return g }

// dependsOn adds a dependency, ready unless changed.
func (g *given) dependsOn(name string, but ...func(*Dependency)) *given {
	d := Dependency{Name: name, Observed: true, Ready: true, Revisions: []string{oldRevision, newRevision}}
	for _, change := range but {
		change(&d)
	}
	g.facts.Dependencies = append(g.facts.Dependencies, d)
	return g
}

func notReady(d *Dependency) { d.Ready = false }

// allowing sets how many attempts may fail in a row.
func (g *given) allowing(failures int) *given {
	g.facts.Stack.MaxFailures = failures
	return g
}

func (g *given) held() *given {
	g.facts.Stack.Held, g.facts.Stack.Call = true, "vpc -n team"
	return g
}

// breaking allows breaking the lock.
func (g *given) breaking(lock string) *given {
	g.facts.Stack.BreakLock = lock
	return g
}

func (g *given) breakingAny() *given {
	g.facts.Stack.BreakAnyLock = true
	return g
}

// requested requests a reconciliation, like `yuba replan`.
func (g *given) requested() *given {
	g.facts.Stack.Requested, g.facts.Stack.Handled = "second", "first"
	return g
}

func (g *given) sourceGone() *given {
	g.facts.Source = Source{Problem: "could not get Source object: it is gone"}
	return g.config("")
}

func (g *given) inputsGone() *given {
	g.facts.Inputs = Inputs{Problem: "Secret vpc-credentials is missing", Reason: "InputsMissing"}
	return g.config("")
}

func (g *given) lockedBy(id string) *given {
	g.facts.Lock = &Lock{ID: id, Who: "ci@build7", Operation: "OperationTypeApply", Since: noon.Add(-time.Hour)}
	return g
}

func (g *given) stateProblem(problem string) *given {
	g.facts.StateProblem = problem
	return g
}

// checkedForDrift sets when drift was last checked.
func (g *given) checkedForDrift(ago time.Duration) *given {
	g.facts.LastDriftCheck = noon.Add(-ago)
	return g
}

// running: a run of the present configuration is in progress.
func (g *given) running(change func(*Run)) *given {
	g.facts.Current = &Run{ID: "run-2", Purpose: PurposeDeploy, Config: present}
	change(g.facts.Current)
	return g
}

// failed: the last run was a plan of the present configuration, which failed some time ago.
func (g *given) failed(ago time.Duration, changes ...func(*Run)) *given {
	g.facts.Last = &Run{ID: "run-1", Purpose: PurposeDeploy, Config: present, Failed: true, Failures: 1,
		Finished: noon.Add(-ago)}
	for _, change := range changes {
		change(g.facts.Last)
	}
	return g
}

// Changes for failed and running.

func interrupted(r *Run) { r.Failed, r.Interrupted = false, true }
func stopped(r *Run)     { r.Failed, r.Canceled, r.Failures = false, true, 0 }
func pointless(r *Run)   { r.Waits = true }
func byPerson(r *Run)    { r.Stopped = true }
func applying(r *Run)    { r.Apply = true }
func applyBegan(r *Run)  { r.Apply, r.ApplyStarted = true, true }
func ofOther(r *Run)     { r.Config = other }
func withKept(r *Run)    { r.UsedKept = true }
func toStop(r *Run)      { r.Canceled = true }
func asIs(*Run)          {}

func destroying(r *Run) { r.Purpose, r.Apply, r.Destroy = PurposeDelete, true, true }
func lookingForDrift(r *Run) {
	r.Purpose = PurposeDrift
}

// deleted: the object is being deleted, and its resources destroyed.
func (g *given) deleted() *given {
	g.facts.Stack.Deleting, g.facts.Stack.DestroyOnDeletion = true, true
	return g
}

// Expected decisions.

func plans(reason, message string) Decision {
	return Decision{Verb: VerbPlan, Reason: reason, Message: message, Purpose: PurposeDeploy, Describe: true}
}

func plansAndApplies(reason, message string) Decision {
	return Decision{Verb: VerbPlanAndApply, Reason: reason, Message: message, Purpose: PurposeDeploy}
}

func applies(id string) Decision {
	return Decision{Verb: VerbApply, Subject: id, Reason: ReasonApproved, Message: "Applying", Purpose: PurposeDeploy}
}

func destroys() Decision {
	return Decision{Verb: VerbPlanAndApply, Reason: ReasonDeleting, Message: "Deletion in progress",
		Purpose: PurposeDelete, Destroy: true}
}

func awaitsApproval(id, message string, next time.Time) Decision {
	return Decision{Verb: VerbAwaitApproval, Subject: id, Reason: ReasonAwaitingApproval, Message: message, NextCheck: next}
}

func rests(next time.Time) Decision {
	return Decision{Verb: VerbRest, Reason: ReasonUpToDate, NextCheck: next}
}

func (d Decision) forDrift() Decision  { d.Purpose = PurposeDrift; return d }
func (d Decision) ofDestroy() Decision { d.Destroy = true; return d }
func (d Decision) withKept() Decision  { d.UseKept = true; return d }
func (d Decision) again() Decision     { d.Again = true; return d }
