// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initflow

import (
	"slices"
	"testing"
)

var stages = []Stage{Begun, Holding, Preparing, Replaying, Running, Selecting, Recording, Keeping, Redoing, Completing, Ready, Ended, Failed}

func TestNext(t *testing.T) {
	everything := Event{Kind: ToolFailed, About: About{true, true, true}, StoreModules: true, StoreProviders: true}
	about := func(a About, modules, providers bool) Event {
		return Event{Kind: ToolFailed, About: a, StoreModules: modules, StoreProviders: providers}
	}
	done, gone, toolFailed := Event{Kind: Done}, Event{Kind: Gone}, Event{Kind: ToolFailed}
	for _, c := range []struct {
		name   string
		state  State
		event  Event
		want   State
		action Action
	}{
		{"nothing changed since the last init: see whether it is complete", State{}, Event{Kind: Looked, Unchanged: true}, State{Stage: Holding}, Hold},
		{"nothing changed since a replay that no plan has proven", State{}, Event{Kind: Looked, Unchanged: true, Unproven: true}, State{Stage: Holding, Replayed: true}, Hold},
		{"something changed", State{}, Event{Kind: Looked}, State{Stage: Preparing}, Prepare},
		{"a replay of before counts no more when something changed", State{}, Event{Kind: Looked, Unproven: true}, State{Stage: Preparing}, Prepare},
		{"the last init is complete", State{Stage: Holding}, done, State{Stage: Ready}, Reuse},
		{"the last replay is complete and still unproven", State{Stage: Holding, Replayed: true}, done, State{Stage: Ready, Replayed: true}, Reuse},
		{"a provider of the last init is gone", State{Stage: Holding, Replayed: true}, gone, State{Stage: Preparing}, Prepare},

		{"the modules are the same as with the last plan", State{Stage: Preparing}, Event{Kind: Done, SameModules: true}, State{Stage: Ended}, Skip},
		{"another stack's init may do", State{Stage: Preparing}, Event{Kind: Done, Shareable: true}, State{Stage: Replaying, Shareable: true}, Replay},
		{"init is for this run alone", State{Stage: Preparing}, done, State{Stage: Running}, Run},
		{"a kept init is in place", State{Stage: Replaying, Shareable: true}, done, State{Stage: Recording, Shareable: true, Replayed: true}, Record},
		{"none is kept", State{Stage: Replaying, Shareable: true}, gone, State{Stage: Running, Shareable: true}, Run},
		{"none is kept, and what this one leaves can be", State{Stage: Replaying, Shareable: true}, Event{Kind: Gone, Unpacked: true}, State{Stage: Running, Shareable: true}, RunEmpty},

		{"init succeeded", State{Stage: Running}, done, State{Stage: Recording}, Record},
		{"init succeeded and a workspace is to be selected", State{Stage: Running}, Event{Kind: Done, Select: true}, State{Stage: Selecting}, Select},
		{"the workspace is selected", State{Stage: Selecting}, Event{Kind: Done, Select: true}, State{Stage: Recording}, Record},
		{"the workspace cannot be selected", State{Stage: Selecting}, everything, State{Stage: Failed}, Fail},
		{"the backend is another one", State{Stage: Running}, everything, State{Stage: Running, BackendGiven: true}, ForgetBackend},
		{"the modules do not fit", State{Stage: Running}, about(About{Modules: true}, true, true), State{Stage: Running, ModulesGiven: true}, WithdrawModules},
		{"modules before providers", State{Stage: Running, BackendGiven: true}, everything, State{Stage: Running, ModulesGiven: true}, WithdrawModules},
		{"the modules are init's own", State{Stage: Running}, about(About{Modules: true}, false, true), State{Stage: Failed}, Fail},
		{"the modules were withdrawn before", State{Stage: Running, ModulesGiven: true}, about(About{Modules: true}, true, true), State{Stage: Failed, ModulesGiven: true}, Fail},
		{"no modules once the stack's own way counts", State{Stage: Running, ProvidersGiven: true}, about(About{Modules: true}, true, true), State{Stage: Failed, ProvidersGiven: true}, Fail},
		{"the backend, after the modules were withdrawn", State{Stage: Running, ModulesGiven: true}, everything, State{Stage: Running, ModulesGiven: true, BackendGiven: true}, ForgetBackend},
		{"the providers do not fit", State{Stage: Running}, about(About{Providers: true}, true, true), State{Stage: Running, ProvidersGiven: true}, WithdrawProviders},
		{"the providers, after the modules", State{Stage: Running, ModulesGiven: true, BackendGiven: true}, everything, State{Stage: Running, ModulesGiven: true, ProvidersGiven: true}, WithdrawProviders},
		{"the providers are init's own", State{Stage: Running}, about(About{Providers: true}, true, false), State{Stage: Failed}, Fail},
		{"the providers were withdrawn before", State{Stage: Running, ProvidersGiven: true}, about(About{Providers: true}, true, true), State{Stage: Failed, ProvidersGiven: true}, Fail},
		{"an init with another backend is not kept", State{Stage: Running, Shareable: true}, everything, State{Stage: Running, BackendGiven: true}, ForgetBackend},
		{"an init without the store's modules is not kept", State{Stage: Running, Shareable: true}, about(About{Modules: true}, true, true), State{Stage: Running, ModulesGiven: true}, WithdrawModules},
		{"an init without the store's providers is not kept", State{Stage: Running, Shareable: true}, about(About{Providers: true}, true, true), State{Stage: Running, ProvidersGiven: true}, WithdrawProviders},
		{"nothing is left to give up", State{Stage: Running, BackendGiven: true, ModulesGiven: true, ProvidersGiven: true}, everything,
			State{Stage: Failed, BackendGiven: true, ModulesGiven: true, ProvidersGiven: true}, Fail},
		{"init failed over something else", State{Stage: Running}, about(About{}, true, true), State{Stage: Failed}, Fail},

		{"recorded, for this run alone", State{Stage: Recording}, done, State{Stage: Ready}, Finish},
		{"recorded, and of use to others", State{Stage: Recording, Shareable: true}, done, State{Stage: Keeping, Shareable: true}, Keep},
		{"a replay is not kept again", State{Stage: Recording, Shareable: true, Replayed: true}, done, State{Stage: Ready, Shareable: true, Replayed: true}, Finish},
		{"kept", State{Stage: Keeping, Shareable: true}, done, State{Stage: Ready, Shareable: true}, Finish},

		{"the first plan after a replay failed", State{Stage: Ready, Shareable: true, Replayed: true}, Event{Kind: PlanFailed}, State{Stage: Redoing}, Undo},
		{"the first plan after an init failed", State{Stage: Ready}, Event{Kind: PlanFailed}, State{Stage: Failed}, Fail},
		{"the replay is undone", State{Stage: Redoing}, done, State{Stage: Running}, Run},
		{"the state needs more providers", State{Stage: Ready, Shareable: true, Replayed: true}, Event{Kind: StateNeeds}, State{Stage: Completing}, RunWithState},
		{"the state has them", State{Stage: Completing}, Event{Kind: Done, Select: true}, State{Stage: Recording}, Record},
		{"they cannot be installed", State{Stage: Completing}, everything, State{Stage: Failed}, Fail},
		{"nothing else is asked after init", State{Stage: Ready}, toolFailed, State{Stage: Failed}, Fail},
		{"nothing follows the end", State{Stage: Ended}, done, State{Stage: Failed}, Fail},
		{"nothing follows a failure", State{Stage: Failed}, done, State{Stage: Failed}, Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			if state, action := Next(c.state, c.event); state != c.want || action != c.action {
				t.Errorf("Next = %+v, %q; want %+v, %q", state, action, c.want, c.action)
			}
		})
	}
}

// A failure that no program reported is never retried, whatever the stage.
func TestAFailureOfAnActionEndsInit(t *testing.T) {
	for _, stage := range stages {
		if state, action := Next(State{Stage: stage}, Event{Kind: Broke, About: About{true, true, true}, StoreModules: true, StoreProviders: true}); state.Stage != Failed || action != Fail {
			t.Errorf("%q: Next = %q, %q", stage, state.Stage, action)
		}
	}
}

// Init always ends, and runs the program at most six times.
func TestInitEnds(t *testing.T) {
	var events []Event
	for bits := range 64 {
		has := func(bit int) bool { return bits&(1<<bit) != 0 }
		for _, kind := range []Kind{Done, Gone, ToolFailed} {
			events = append(events, Event{Kind: kind, Unchanged: has(0), Shareable: has(1), Unpacked: has(2), Select: has(3), SameModules: has(4), Unproven: has(5),
				About: About{has(0), has(1), has(2)}, StoreModules: has(3), StoreProviders: has(4)})
		}
	}
	runs := []Action{Run, RunEmpty, ForgetBackend, WithdrawModules, WithdrawProviders, RunWithState}
	ends := []Action{Finish, Reuse, Skip, Fail}
	most := map[State]int{}
	var visit func(s State, ran int, path []State)
	visit = func(s State, ran int, path []State) {
		if before, seen := most[s]; seen && before >= ran {
			return
		}
		most[s] = ran
		if slices.Contains(path, s) {
			t.Fatalf("init comes back to %+v after %+v", s, path)
		}
		for _, e := range events {
			next, action := Next(s, e)
			now := ran
			if slices.Contains(runs, action) {
				now++
			}
			if now > 6 {
				t.Fatalf("init runs %d times: %+v", now, path)
			}
			if !slices.Contains(ends, action) {
				visit(next, now, append(slices.Clone(path), s))
			}
		}
	}
	for _, first := range []State{{}, {Stage: Ready, Replayed: true}, {Stage: Redoing}, {Stage: Completing}} {
		clear(most)
		visit(first, 0, nil)
	}
}
