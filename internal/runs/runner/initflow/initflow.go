// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initflow

// Stage is what init is doing.
type Stage string

// The stages; see the package's documentation.
const (
	Begun      Stage = ""
	Holding    Stage = "holding what the last init left"
	Preparing  Stage = "preparing"
	Replaying  Stage = "replaying another stack's init"
	Running    Stage = "running"
	Selecting  Stage = "selecting the workspace"
	Recording  Stage = "recording"
	Keeping    Stage = "keeping what init left for other stacks"
	Redoing    Stage = "undoing the replay"
	Completing Stage = "running with the state in sight"
	Ready      Stage = "ready"
	Ended      Stage = "nothing to plan"
	Failed     Stage = "failed"
)

// State is all that the next decision depends on.
type State struct {
	Stage Stage
	// Shareable is true while what init leaves may be kept for other stacks, Replayed once a kept init is in place.
	Shareable, Replayed bool
	// The backend's record, the modules and the providers of the stores were given up for a retry.
	BackendGiven, ModulesGiven, ProvidersGiven bool
}

// Kind is what happened.
type Kind string

// The kinds of events.
const (
	// Looked begins the machine: the working directory was compared with the record of the last init.
	Looked Kind = "looked"
	// Done says that the action succeeded, Gone that what it needed is not there.
	Done Kind = "done"
	Gone Kind = "gone"
	// ToolFailed says that the program failed by itself; its diagnostics are in About.
	ToolFailed Kind = "the program failed"
	// Broke says that the action failed in any other way.
	Broke Kind = "broke"
	// PlanFailed says that the first plan after a replay failed in a way that init might have prevented.
	PlanFailed Kind = "the plan failed"
	// StateNeeds says that resources in the state need providers that the program does not.
	StateNeeds Kind = "the state needs providers"
)

// Event is what happened, with the facts that the next decision needs.
type Event struct {
	Kind Kind
	// Unchanged, with Looked: everything that init reads is as it was when init last succeeded here. Unproven: that init
	// was a replay, and no plan has shown yet that nothing is missing.
	Unchanged, Unproven bool
	// SameModules, with Done of Prepare: the run is to plan only if modules have moved, and none has.
	SameModules bool
	// Shareable, with Done of Prepare: all that init depends on is known, so that a kept init may stand in for it.
	Shareable bool
	// Unpacked, with Gone of Replay: this run unpacked the source, so that an empty directory can be had.
	Unpacked bool
	// Select, with Done of a run: the workspace has to be selected in the backend.
	Select bool
	// About, with ToolFailed: what the diagnostics are about.
	About About
	// StoreModules and StoreProviders, with ToolFailed: init used modules or providers of the stores, and may succeed
	// without them.
	StoreModules, StoreProviders bool
}

// About says what the diagnostics of a failed init are about. A failure may be about several things.
type About struct{ Backend, Modules, Providers bool }

// Action is what the runner does next.
type Action string

// The actions.
const (
	// Hold checks that the products of the last init are complete, and keeps its providers from being collected.
	Hold Action = "hold"
	// Reuse goes on with them.
	Reuse Action = "reuse"
	// Prepare puts lock file, modules and providers in place.
	Prepare Action = "prepare"
	// Skip ends the run without a plan.
	Skip Action = "skip"
	// Replay puts a kept init in place.
	Replay Action = "replay"
	// Run runs init, RunEmpty in an empty directory.
	Run      Action = "run"
	RunEmpty Action = "run in an empty directory"
	// ForgetBackend, WithdrawModules and WithdrawProviders give something up and run init again.
	ForgetBackend     Action = "forget the backend and run"
	WithdrawModules   Action = "withdraw the store's modules and run"
	WithdrawProviders Action = "withdraw the store's providers and run"
	// Select selects the workspace.
	Select Action = "select the workspace"
	// Record writes down what init was for and reports the lock file.
	Record Action = "record"
	// Keep keeps what init left for other stacks.
	Keep Action = "keep"
	// Undo removes what was replayed, forgets it, and prepares for a run.
	Undo Action = "undo the replay"
	// RunWithState runs init with the state in its sight.
	RunWithState Action = "run with the state in sight"
	// Finish ends init.
	Finish Action = "finish"
	// Fail ends init with the last failure.
	Fail Action = "fail"
)

// Next decides what follows from an event.
func Next(s State, e Event) (State, Action) {
	if e.Kind == Broke {
		return s.at(Failed), Fail
	}
	switch s.Stage {
	case Begun:
		if e.Unchanged {
			s.Replayed = e.Unproven
			return s.at(Holding), Hold
		}
		return s.at(Preparing), Prepare
	case Holding:
		if e.Kind == Gone {
			return State{Stage: Preparing}, Prepare
		}
		return s.at(Ready), Reuse
	case Preparing:
		return s.prepared(e)
	case Replaying:
		return s.replayed(e)
	case Running, Selecting:
		return s.ran(e)
	case Recording:
		if s.Shareable && !s.Replayed {
			return s.at(Keeping), Keep
		}
		return s.at(Ready), Finish
	case Keeping:
		return s.at(Ready), Finish
	case Ready:
		return s.again(e)
	case Redoing:
		return s.at(Running), Run
	case Completing:
		if e.Kind == ToolFailed {
			return s.at(Failed), Fail
		}
		return s.at(Recording), Record
	}
	return s.at(Failed), Fail // Ended and Failed: nothing follows
}

func (s State) at(stage Stage) State {
	s.Stage = stage
	return s
}

func (s State) prepared(e Event) (State, Action) {
	switch s.Shareable = e.Shareable; {
	case e.SameModules:
		return s.at(Ended), Skip
	case s.Shareable:
		return s.at(Replaying), Replay
	}
	return s.at(Running), Run
}

func (s State) replayed(e Event) (State, Action) {
	switch {
	case e.Kind == Done:
		s.Replayed = true
		return s.at(Recording), Record
	case e.Unpacked:
		return s.at(Running), RunEmpty
	}
	return s.at(Running), Run
}

// ran follows a run of init. Providers are given up last, because init then installs in the stack's own way.
func (s State) ran(e Event) (State, Action) {
	switch {
	case e.Kind == Done && s.Stage == Running && e.Select:
		return s.at(Selecting), Select
	case e.Kind == Done:
		return s.at(Recording), Record
	case s.Stage == Selecting:
		return s.at(Failed), Fail
	case e.About.Backend && !s.BackendGiven:
		s.BackendGiven = true
		return s, ForgetBackend
	case e.About.Modules && e.StoreModules && !s.ModulesGiven && !s.ProvidersGiven:
		s.ModulesGiven, s.BackendGiven = true, false
		return s, WithdrawModules
	case e.About.Providers && e.StoreProviders && !s.ProvidersGiven:
		s.ProvidersGiven, s.BackendGiven = true, false
		return s, WithdrawProviders
	}
	return s.at(Failed), Fail
}

// again follows what was found out after init.
func (s State) again(e Event) (State, Action) {
	switch e.Kind {
	case PlanFailed:
		if !s.Replayed {
			return s.at(Failed), Fail
		}
		return State{Stage: Redoing}, Undo
	case StateNeeds:
		return State{Stage: Completing}, RunWithState
	}
	return s.at(Failed), Fail
}
