// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	"pgregory.net/rapid"
)

// Random facts come from small pools, so that digests, ids and times often coincide.

func drawFacts(t *rapid.T) Facts {
	f := Facts{
		Now:         noon,
		Stack:       drawStack(t),
		Source:      Source{Ready: usually(t, "source ready"), Revision: "main@sha1:1a2b3c4d5e6f"},
		Refused:     drawRefusal(t),
		Inputs:      Inputs{Ready: usually(t, "inputs ready")},
		Kept:        rapid.Bool().Draw(t, "kept"),
		StateExists: rapid.Bool().Draw(t, "state exists"),
		Pending:     drawPending(t),
		Policy:      drawPolicy(t),
		Contracts:   drawContracts(t),
		Last:        drawLast(t),

		LastDriftCheck: drawPast(t, "drift check"),
	}
	if f.Source.Ready && f.Inputs.Ready {
		f.ReadsWorld = rapid.SampledFrom([]string{"", "", clock}).Draw(t, "reads the world")
		f.Config = drawConfig(t, "config")
		f.OnlyModules = f.Config != f.Stack.PlannedConfig && rapid.Bool().Draw(t, "only modules may have moved")
	}
	if !f.Source.Ready {
		f.Source.Revision = rapid.SampledFrom([]string{"", f.Source.Revision}).Draw(t, "revision of the unusable artifact")
		f.Source.Problem, f.Source.Denied, f.Source.Lasting = "gone", rapid.Bool().Draw(t, "denied"), rapid.Bool().Draw(t, "lasting")
	}
	if !f.Inputs.Ready {
		f.Inputs.Lasting = rarely(t, "inputs lasting")
		f.Inputs.Problem, f.Inputs.Reason = "missing", rapid.SampledFrom([]string{"", "InputsMissing"}).Draw(t, "inputs reason")
	}
	if !f.Stack.OwnBackend {
		f.StateSerial, f.StateKnown = uint64(rapid.IntRange(0, 1).Draw(t, "serial")), true
		if rarely(t, "state problem") {
			f.StateProblem = "the state is no JSON"
		}
		if rarely(t, "lock") {
			f.Lock = &Lock{ID: drawLock(t, "lock"), Who: "ci@build7", Alive: rarely(t, "lock alive"), Over: rarely(t, "lock over")}
		}
	}
	for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "dependencies") {
		f.Dependencies = append(f.Dependencies, drawDependency(t))
	}
	if rarely(t, "depends on itself") {
		f.Cycle = "vpc -> app -> vpc"
	}
	if rarely(t, "dependants") {
		f.Dependants = []string{"app"}
	}
	if rarely(t, "circuit") {
		f.Circuit = drawCircuit(t)
	}
	if rarely(t, "takeover") {
		f.Takeover = &Takeover{From: "team/vpc"}
	}
	if rarely(t, "run in progress") {
		f.Current = drawRun(t, "current")
		f.Current.Failed, f.Current.Interrupted = false, false
	}
	return f
}

func drawStack(t *rapid.T) Stack {
	return Stack{
		Deleting:          rarely(t, "deleting"),
		Suspended:         rarely(t, "suspended"),
		Mode:              rapid.SampledFrom([]Mode{ModeManual, ModeManual, ModeAuto, ModeAuto, ModePolicy, ModeDisabled}).Draw(t, "mode"),
		Approved:          drawID(t, "approved"),
		Rejected:          drawID(t, "rejected"),
		Allowed:           rapid.SampledFrom([]string{"", "", "", "plan-1", "plan-2"}).Draw(t, "allowed"),
		PlanOnly:          rarely(t, "plan-only"),
		Force:             rarely(t, "force"),
		Destroy:           rarely(t, "destroy"),
		DestroyOnDeletion: rapid.Bool().Draw(t, "destroy on deletion"),
		DetectDrift:       usually(t, "detect drift"),
		Interval:          rapid.SampledFrom([]time.Duration{0, time.Minute, everyTenMinutes}).Draw(t, "interval"),
		WorldInterval:     rapid.SampledFrom([]time.Duration{0, time.Second, everyTenMinutes}).Draw(t, "the object's interval"),
		RetryInterval:     rapid.SampledFrom([]time.Duration{0, afterFifteen, time.Minute}).Draw(t, "retry interval"),
		MaxRetryInterval:  rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(t, "longest retry interval"),
		Requested:         rapid.SampledFrom([]string{"", "first", "second"}).Draw(t, "requested"),
		Handled:           rapid.SampledFrom([]string{"", "first", "second"}).Draw(t, "handled"),
		PlannedConfig:     rapid.SampledFrom([]string{"", present, other}).Draw(t, "planned config"),
		AppliedOnce:       rapid.Bool().Draw(t, "applied once"),
		LastAppliedPlan:   drawID(t, "applied plan"),
		OwnBackend:        rarely(t, "own backend"),
		Generation:        drawGeneration(t, "generation"),
		PlannedGeneration: drawGeneration(t, "planned generation"),
		MaxFailures:       rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "most failures"),
		BreakLock:         rapid.SampledFrom([]string{"", "", "lock-1"}).Draw(t, "lock to break"),
		BreakAnyLock:      rarely(t, "break any lock"),
		Held:              rarely(t, "held"),
		Call:              "vpc -n team",
		ReplanOnRevision:  rarely(t, "replan on a revision"),
		PlannedRevision:   drawRevision(t, "planned revision"),
	}
}

func drawDependency(t *rapid.T) Dependency {
	return Dependency{
		Name: "vpc", Denied: rapid.IntRange(0, 9).Draw(t, "dependency denied") == 9, Missing: rarely(t, "dependency missing"),
		Deleting: rarely(t, "dependency deleting"), Observed: usually(t, "dependency observed"), Ready: usually(t, "dependency ready"),
		SameSource: rarely(t, "same source"), Revisions: []string{drawRevision(t, "dependency revision")},
		OutputsMissing: rapid.SampledFrom([]string{"", "", "", "vpc-outputs"}).Draw(t, "outputs missing"),
	}
}

func drawRefusal(t *rapid.T) Refusal {
	if usually(t, "nothing refused") {
		return Refusal{}
	}
	return Refusal{At: drawPast(t, "refused"), Failures: rapid.IntRange(1, 4).Draw(t, "refusals"),
		Generation: drawGeneration(t, "refused generation"), Revision: drawRevision(t, "refused revision")}
}

func drawCircuit(t *rapid.T) *Circuit {
	c := &Circuit{Name: "aws-down", What: "provider hashicorp/aws is unavailable", Open: rapid.Bool().Draw(t, "circuit open"), Failed: rapid.Bool().Draw(t, "failed alike")}
	if c.Open {
		c.Probe = c.Failed && rapid.Bool().Draw(t, "probed")
		return c
	}
	c.ClosedAt = drawPast(t, "circuit closed")
	if c.Failed {
		c.ResumeAt = c.ClosedAt.Add(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 2 * time.Hour}).Draw(t, "resumes after"))
	}
	return c
}

func drawGeneration(t *rapid.T, label string) int64 {
	return rapid.SampledFrom([]int64{4, 4, 4, 5}).Draw(t, label)
}

func drawRevision(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"main@sha1:1a2b3c4d5e6f", "main@sha1:1a2b3c4d5e6f", "main@sha1:000000000000"}).Draw(t, label)
}

func drawLock(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"lock-1", "lock-2"}).Draw(t, label)
}

func drawPending(t *rapid.T) *Plan {
	if rapid.Bool().Draw(t, "nothing pending") {
		return nil
	}
	return &Plan{
		ID:          rapid.SampledFrom([]string{"plan-1", "plan-2"}).Draw(t, "pending id"),
		Config:      drawConfig(t, "pending config"),
		StateSerial: uint64(rapid.IntRange(0, 1).Draw(t, "pending serial")),
		Destroy:     rarely(t, "pending destroy"),
		Drift:       rapid.Bool().Draw(t, "pending drift"),
		Deletion:    rapid.Bool().Draw(t, "pending deletion"),
		Usable:      usually(t, "pending usable"),
		HeldBy:      rapid.SampledFrom([]string{"", "", "", "aws-down"}).Draw(t, "pending held by"),
		Verdict:     drawVerdict(t),
		Contracts:   drawContractVerdict(t),
	}
}

func drawVerdict(t *rapid.T) *Verdict {
	if rapid.Bool().Draw(t, "not judged") {
		return nil
	}
	return &Verdict{
		Opinion:   rapid.SampledFrom([]Opinion{OpinionFreed, OpinionPassed, OpinionApproved, OpinionHeld, OpinionRefused}).Draw(t, "opinion"),
		Message:   "1 resource is destroyed",
		Set:       rapid.SampledFrom([]string{"set-1", "set-1", "set-2"}).Draw(t, "judged by"),
		Until:     rapid.SampledFrom([]time.Time{{}, {}, noon.Add(-time.Hour), noon.Add(time.Hour)}).Draw(t, "verdict ends"),
		NeedsPlan: rarely(t, "verdict needs a plan"),
		Recorded:  rapid.Bool().Draw(t, "only recorded approvals count"),
	}
}

func drawPolicy(t *rapid.T) Policy {
	if rapid.Bool().Draw(t, "without policies") {
		return Policy{}
	}
	return Policy{Bound: usually(t, "bound"), Set: "set-1", Problem: rapid.SampledFrom([]string{"", "", "", "not read yet"}).Draw(t, "policy problem"),
		Refused: rapid.SampledFrom([]string{"", "", "", "safe: no-external-data"}).Draw(t, "policy refuses")}
}

func drawLast(t *rapid.T) *Run {
	if rarely(t, "no last run") {
		return nil
	}
	return drawRun(t, "last")
}

// drawRun draws a run with one of the four results.
func drawRun(t *rapid.T, label string) *Run {
	r := &Run{
		ID:       label,
		Purpose:  rapid.SampledFrom([]string{PurposeDeploy, PurposeDrift, PurposeDelete}).Draw(t, label+" purpose"),
		Apply:    rapid.Bool().Draw(t, label+" applies"),
		Config:   drawConfig(t, label+" config"),
		Destroy:  rarely(t, label+" destroys"),
		UsedKept: rapid.Bool().Draw(t, label+" used kept"),
		Waits:    rarely(t, label+" waits"),
		Failures: rapid.IntRange(0, 20).Draw(t, label+" failures"),
		Finished: drawPast(t, label+" finished"),

		Generation: rapid.SampledFrom([]int64{0, 4, 4, 5}).Draw(t, label+" generation"),
		Revision:   drawRevision(t, label+" revision"),
	}
	if rarely(t, label+" met a lock") {
		r.Lock = drawLock(t, label+" lock")
	}
	r.ApplyStarted = r.Apply && rapid.Bool().Draw(t, label+" apply started")
	switch rapid.IntRange(0, 3).Draw(t, label+" outcome") {
	case 1:
		r.Failed = true
	case 2:
		r.Interrupted = true
	case 3:
		r.Canceled, r.ApplyStarted = true, false
	}
	if r.Failed && rarely(t, label+" refused by policies") {
		r.RefusedBy, r.Waits = rapid.SampledFrom([]string{"set-0", "set-1"}).Draw(t, label+" policies"), true
		r.RefusedUntil = rapid.SampledFrom([]time.Time{{}, {}, noon.Add(-time.Minute), noon.Add(time.Hour)}).Draw(t, label+" refused until")
	}
	r.OnlyPlanned = !r.Apply && rapid.Bool().Draw(t, label+" only planned")
	r.Stopped = (r.Failed || r.Interrupted) && rarely(t, label+" stopped by a person")
	return r
}

// drawPast draws a time that is often at or next to a boundary of the intervals above.
func drawPast(t *rapid.T, label string) time.Time {
	ago := rapid.SampledFrom([]time.Duration{
		0, time.Second, afterFifteen, 2 * afterFifteen, time.Minute, everyTenMinutes, time.Hour, 24 * time.Hour,
	}).Draw(t, label+" ago")
	return noon.Add(-ago + time.Duration(rapid.IntRange(-1, 1).Draw(t, label+" off by")))
}

func drawConfig(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{present, present, other}).Draw(t, label)
}

func drawID(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "plan-1", "plan-2", "plan-3"}).Draw(t, label)
}

func rarely(t *rapid.T, label string) bool  { return rapid.IntRange(0, 4).Draw(t, label) == 4 }
func usually(t *rapid.T, label string) bool { return rapid.IntRange(0, 4).Draw(t, label) != 4 }

// clone copies facts deeply.
func clone(f Facts) Facts {
	if f.Pending != nil {
		p := *f.Pending
		f.Pending = &p
		if p.Verdict != nil {
			v := *p.Verdict
			f.Pending.Verdict = &v
		}
		if p.Contracts != nil {
			v := *p.Contracts
			f.Pending.Contracts = &v
		}
	}
	if f.Lock != nil {
		l := *f.Lock
		f.Lock = &l
	}
	if f.Current != nil {
		c := *f.Current
		f.Current = &c
	}
	if f.Last != nil {
		l := *f.Last
		f.Last = &l
	}
	if f.Takeover != nil {
		t := *f.Takeover
		f.Takeover = &t
	}
	if f.Circuit != nil {
		c := *f.Circuit
		f.Circuit = &c
	}
	return f
}
