// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initflow

// Stage is a stage of init.
type Stage string

// The stages; see the package's documentation.
const (
	Begun      Stage = ""
	Holding    Stage = "holding the result of the last init"
	Preparing  Stage = "preparing"
	Replaying  Stage = "replaying another stack's init"
	Running    Stage = "running"
	Selecting  Stage = "selecting the workspace"
	Recording  Stage = "recording"
	Keeping    Stage = "keeping the result of init for other stacks"
	Redoing    Stage = "undoing the replay"
	Completing Stage = "running with the state in sight"
	Ready      Stage = "ready"
	Ended      Stage = "nothing to plan"
	Failed     Stage = "failed"
)

// State is all that the next decision depends on.
type State struct {
	Stage Stage
	// Shareable is true while init may be kept for others, Replayed once a kept init is in place.
	Shareable, Replayed bool
	// These were given up for a retry.
	BackendGiven, ModulesGiven, ProvidersGiven bool
}

// Kind is the kind of an event.
type Kind string

// Kinds of events.
const (
	// Looked comes first: the working directory was compared with the last init.
	Looked Kind = "looked"
	// Done: the action succeeded. Gone: something that it needed is missing.
	Done Kind = "done"
	Gone Kind = "gone"
	// ToolFailed: the program itself failed; About has the subjects of its diagnostics.
	ToolFailed Kind = "the program failed"
	// Broke: the action failed in any other way.
	Broke Kind = "broke"
	// PlanFailed: the first plan after a replay failed, and init might prevent that.
	PlanFailed Kind = "the plan failed"
	// StateNeeds: resources in the state need providers that the program does not.
	StateNeeds Kind = "the state needs providers"
)

// Event is an event with the facts for the next decision.
type Event struct {
	Kind Kind
	// Unchanged, with Looked: init's inputs have not changed since its last success. Unproven: that
	// was a replay that no plan has proven complete.
	Unchanged, Unproven bool
	// SameModules, with Done of Prepare: only moved modules require a plan, and none moved.
	SameModules bool
	// Shareable, with Done of Prepare: init's inputs are all known, so a kept one can replace it.
	Shareable bool
	// Unpacked, with Gone of Replay: the run unpacked the source, so an empty directory exists.
	Unpacked bool
	// Select, with Done of a run: a workspace must be selected in the backend.
	Select bool
	// About, with ToolFailed: the subjects of the diagnostics.
	About About
	// StoreModules and StoreProviders, with ToolFailed: init used the stores, and may work without.
	StoreModules, StoreProviders bool
}

// About has the subjects of a failed init's diagnostics, possibly several.
type About struct{ Backend, Modules, Providers bool }

// Action is the runner's next action.
type Action string

// Actions.
const (
	// Hold checks that the last init's products are complete, and protects its providers.
	Hold Action = "hold"
	// Reuse continues with them.
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
	// Record records the inputs of init and reports the lock file.
	Record Action = "record"
	// Keep keeps the init for other stacks.
	Keep Action = "keep"
	// Undo removes a replay, and prepares for a run.
	Undo Action = "undo the replay"
	// RunWithState runs init with the state in place.
	RunWithState Action = "run with the state in place"
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
	return s.at(Failed), Fail // nothing follows Ended and Failed
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

// ran follows a run of init. Providers are given up last: init then uses the stack's own method. What
// a retry leaves is not shareable, as its key covers what was given up.
func (s State) ran(e Event) (State, Action) {
	switch {
	case e.Kind == Done && s.Stage == Running && e.Select:
		return s.at(Selecting), Select
	case e.Kind == Done:
		return s.at(Recording), Record
	case s.Stage == Selecting:
		return s.at(Failed), Fail
	case e.About.Backend && !s.BackendGiven:
		s.BackendGiven, s.Shareable = true, false
		return s, ForgetBackend
	case e.About.Modules && e.StoreModules && !s.ModulesGiven && !s.ProvidersGiven:
		s.ModulesGiven, s.BackendGiven, s.Shareable = true, false, false
		return s, WithdrawModules
	case e.About.Providers && e.StoreProviders && !s.ProvidersGiven:
		s.ProvidersGiven, s.BackendGiven, s.Shareable = true, false, false
		return s, WithdrawProviders
	}
	return s.at(Failed), Fail
}

// again follows an event after init.
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
