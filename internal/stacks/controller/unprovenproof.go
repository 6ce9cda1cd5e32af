// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/unproven"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// proof is the evidence of an ended run about leftovers of earlier runs.
type proof struct {
	// run is its id, on the state that it used.
	run, on string
	// state is the content of the state; nil when it cannot be read.
	state *unproven.State
	// made are the resources that the run created, by match; all is true if that is unknown.
	made map[string]bool
	all  bool
	// tried are those that a failed run began to create: the state may contain them, too.
	tried map[string]bool
	// looked is true if the run refreshed the whole state.
	looked bool
}

// proofOf gathers the evidence of the run that ended in this pass.
func (d leftovers) proofOf(ctx context.Context, stack run.Stack, rec *run.Record) (*proof, error) {
	result := rec.Result
	pr := &proof{run: rec.Spec.ID, on: workedOn(*rec), made: map[string]bool{}, tried: map[string]bool{}}
	pr.looked = result.Outcome == run.OutcomeSucceeded && result.Plan != nil && len(rec.Spec.Targets) == 0
	if result.ApplyStarted && !rec.Spec.Operation.ByHand() {
		applied, err := d.planOf(ctx, stack, rec)
		if err != nil {
			return nil, err
		}
		pr.takeMade(result, applied)
	}
	switch {
	case result.StateListed:
		pr.state = unproven.Listed(result.StateHas)
	case rec.Spec.Backend.Kind == run.BackendManaged:
		now, err := d.presentState(ctx, rec.State)
		if err != nil {
			return nil, err
		}
		pr.state = now
	}
	return pr, nil
}

// weighMore counts unnamed resources again. Only then it reads earlier runs' records, one by one.
func (d leftovers) weighMore(ctx context.Context, p *pass, pr *proof) error {
	u := p.obj.Status.Unproven
	for i := range u.Runs {
		if !pr.countsAnew(u.Runs[i]) {
			continue
		}
		earlier, err := d.runs.Record(ctx, p.stack, u.Runs[i].ID)
		switch {
		case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
		case err != nil:
			return err
		case earlier.Result != nil:
			pr.weighMore(&u.Runs[i], earlier.Result.Unproven)
		}
	}
	return nil
}

// planOf is the applied plan: the run's own or that of another run; nil when it is gone.
func (d leftovers) planOf(ctx context.Context, stack run.Stack, rec *run.Record) (*run.PlanResult, error) {
	if rec.Spec.Plan == nil {
		return rec.Result.Plan, nil
	}
	planned, err := d.runs.Record(ctx, stack, rec.Spec.Plan.RunID)
	switch {
	case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
		return nil, nil
	case err != nil:
		return nil, err
	case planned.Result == nil:
		return nil, nil
	}
	return planned.Result.Plan, nil
}

// takeMade records what a run created: by its plan if it succeeded, else by its log.
func (pr *proof) takeMade(result *run.Result, applied *run.PlanResult) {
	if result.Outcome != run.OutcomeSucceeded && result.Trace != nil && result.Trace.Whole {
		for _, step := range result.Trace.Steps {
			switch match := unproven.Match(step.Address, step.Match); {
			case step.Action != run.ActionCreate:
			case step.Ended == run.TraceDone:
				pr.made[match] = true
			default:
				pr.tried[match] = true
			}
		}
		return
	}
	if applied == nil || applied.FatesTotal > len(applied.Fates) || applied.FatesTotal == 0 && applied.Counts.Add > 0 {
		pr.all = true // it is unknown which
		return
	}
	for _, f := range applied.Fates {
		if f.Action != run.ActionDelete {
			pr.made[unproven.Match(f.Address, f.Match)] = true
		}
	}
}

// presentState reads the run's state as it is now; nil when it cannot be read.
func (d leftovers) presentState(ctx context.Context, of run.StateRef) (*unproven.State, error) {
	snapshot, err := d.states.Read(ctx, state.Key{Namespace: of.Namespace, Workspace: of.Workspace, Suffix: of.Suffix, Stack: of.Stack, Scope: of.Scope})
	switch {
	case state.Unreadable(err):
		return nil, nil
	case err != nil:
		return nil, err
	case snapshot.Encrypted:
		return nil, nil
	}
	now, err := unproven.Parse(snapshot.Data)
	if err != nil {
		return nil, nil //nolint:nilerr // what cannot be parsed proves nothing
	}
	return now, nil
}

// weigh removes proven resources, and marks those that were created again.
func (pr *proof) weigh(u *infrav1.UnprovenStatus) {
	u.Resources = slices.DeleteFunc(u.Resources, func(one infrav1.UnprovenResource) bool { return pr.about(u, one.Run) && pr.proves(&one) })
	for i := range u.Resources {
		one := &u.Resources[i]
		if !pr.about(u, one.Run) {
			continue
		}
		doubt := doubtOf(one)
		if one.MayExist && one.RemadeBy == "" && pr.hasMade(matchOf(one)) {
			one.RemadeBy = pr.run
		}
		one.MayBeGone = one.MayBeGone && pr.mayBeGone(matchOf(one))
		one.StateUnread = one.StateUnread && pr.state == nil
		if now := doubtOf(one); now != doubt { // older versions have kept no more than the words
			one.Doubt = now
		}
	}
}

// doubtOf describes what may have become of a resource.
func doubtOf(one *infrav1.UnprovenResource) string {
	doubt := run.Unproven{MayExist: one.MayExist, MayBeGone: one.MayBeGone, Certain: one.Certain, Many: one.Many, StateUnread: one.StateUnread}.Doubt()
	if one.RemadeBy != "" {
		doubt += "; run " + one.RemadeBy + " created it again"
	}
	return doubt
}

// about reports whether the run worked on the state of an earlier one.
func (pr *proof) about(u *infrav1.UnprovenStatus, id string) bool {
	return id != pr.run && pr.sameState(u.Runs[u.Entry(id)])
}

// sameState reports whether the run used an earlier run's state, which old statuses do not name.
func (pr *proof) sameState(earlier infrav1.UnprovenRun) bool {
	return earlier.State == "" || earlier.State == pr.on
}

// proves reports whether a resource is settled.
func (pr *proof) proves(one *infrav1.UnprovenResource) bool {
	exists := one.MayExist && (one.RemadeBy != "" || !pr.provesIt(matchOf(one), one.Replaces, one.ReplacedID))
	return !exists && !(one.MayBeGone && pr.mayBeGone(matchOf(one)))
}

// mayBeGone reports whether an object may be gone although the state has it: no plan has checked it
// since, and it was not removed from the state.
func (pr *proof) mayBeGone(match string) bool {
	return !pr.looked && (pr.state == nil || pr.state.Has(match))
}

// provesIt reports whether the state has the very object that an earlier run may have made.
func (pr *proof) provesIt(match string, replaces bool, replacedID string) bool {
	return !pr.hasMade(match) && pr.state.Proves(match, replaces, replacedID)
}

// hasMade reports whether the run created such an object, or failed and the state may have it.
func (pr *proof) hasMade(match string) bool {
	return pr.all || pr.made[match] || pr.tried[match] && (pr.state == nil || pr.state.Has(match))
}

// matchOf is the identity of the resource's address.
func matchOf(one *infrav1.UnprovenResource) string { return unproven.Match(one.Address, one.Match) }

// countsAnew reports whether the run may prove something about an earlier run's unnamed resources.
func (pr *proof) countsAnew(r infrav1.UnprovenRun) bool {
	return r.More > 0 && !r.Remade && r.OlderRuns == 0 && r.ID != pr.run && pr.sameState(r)
}

// weighMore counts the resources of a run's list again that the status does not name.
func (pr *proof) weighMore(r *infrav1.UnprovenRun, list []run.Unproven) {
	if int64(len(list)) <= r.Named {
		return
	}
	rest, left := list[r.Named:], 0
	for _, one := range rest {
		match := unproven.Match(one.Address, one.Match)
		if one.MayExist && pr.hasMade(match) {
			r.Remade = true // from now on the state proves nothing about unnamed ones
			return
		}
		if one.MayExist && !pr.provesIt(match, one.Replaces, one.ReplacedID) || one.MayBeGone && pr.mayBeGone(match) {
			left++
		}
	}
	r.More = min(r.More, int64(left)+max(0, r.More-int64(len(rest))))
}
