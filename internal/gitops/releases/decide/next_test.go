// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"math/rand/v2"
	"testing"
	"time"
)

var wanted = Wanted{Chart: "app", ChartVersion: "1.0.0", Config: "c"}

// installed is a release that is what it should be.
func installed(change func(*State)) State {
	s := State{Wanted: wanted, Stored: []Version{{Number: 1, Status: StatusDeployed, Digest: "d1", Wanted: wanted}}, History: []Known{{Number: 1, Digest: "d1", Status: StatusDeployed}},
		LastAction: Install, Failures: map[Action]int64{}, Policies: map[Action]Policy{}}
	if change != nil {
		change(&s)
	}
	return s
}

// upgraded is a release whose second version has a status.
func upgraded(status string, policy Policy, failures int64) State {
	return installed(func(s *State) {
		s.Stored[0].Status = StatusSuperseded
		s.Stored = append([]Version{{Number: 2, Status: status, Digest: "d2", Wanted: wanted}}, s.Stored...)
		s.History = append([]Known{{Number: 2, Digest: "d2", Status: status}}, s.History...)
		s.History[1].Status = StatusSuperseded
		s.LastAction, s.Failures[Upgrade], s.Policies[Upgrade] = Upgrade, failures, policy
	})
}

func TestNext(t *testing.T) {
	for sentence, c := range map[string]struct {
		state State
		want  Action
		to    int
	}{
		"nothing is stored: install":                          {State{Wanted: wanted}, Install, 0},
		"it was uninstalled: install":                         {installed(func(s *State) { s.Stored[0].Status = StatusUninstalled }), Install, 0},
		"the install failed before anything was stored: stop": {State{Wanted: wanted, Failures: map[Action]int64{Install: 1}}, Stop, 0},
		"it failed and may be retried: install":               {State{Wanted: wanted, Failures: map[Action]int64{Install: 1}, Policies: map[Action]Policy{Install: {Retries: 1}}}, Install, 0},
		"retries without limit: install":                      {State{Wanted: wanted, Failures: map[Action]int64{Install: 99}, Policies: map[Action]Policy{Install: {Retries: -1}}}, Install, 0},
		"all is well: done":                                   {installed(nil), Done, 0},
		"an interrupted upgrade: unlock":                      {upgraded("pending-upgrade", Policy{}, 0), Unlock, 0},
		"an interrupted install: unlock":                      {installed(func(s *State) { s.Stored[0].Status = "pending-install" }), Unlock, 0},
		"an interrupted uninstall: unlock":                    {installed(func(s *State) { s.Stored[0].Status = "uninstalling" }), Unlock, 0},
		"somebody else's release: upgrade":                    {installed(func(s *State) { s.History = nil }), Upgrade, 0},
		"a release that somebody changed: upgrade":            {installed(func(s *State) { s.Stored[0].Digest = "other" }), Upgrade, 0},
		"another version of the chart: upgrade":               {installed(func(s *State) { s.Wanted.ChartVersion = "2.0.0" }), Upgrade, 0},
		"other values: upgrade":                               {installed(func(s *State) { s.Wanted.Config = "other" }), Upgrade, 0},
		"other patches: upgrade":                              {installed(func(s *State) { s.Wanted.Rendering = "other" }), Upgrade, 0},
		"another chart: uninstall first":                      {installed(func(s *State) { s.Wanted.Chart = "other" }), Replace, 0},
		"another chart in place: upgrade":                     {installed(func(s *State) { s.Wanted.Chart, s.Drift.Rename = "other", true }), Upgrade, 0},
		"a request: upgrade":                                  {installed(func(s *State) { s.Forced = true }), Upgrade, 0},
		"tests that have not run: test":                       {installed(func(s *State) { s.Tests.Enabled = true }), Test, 0},
		"tests that ran: done":                                {installed(func(s *State) { s.Tests.Enabled, s.History[0].Tested = true, true }), Done, 0},
		"failed tests after an install: uninstall, if retried": {installed(func(s *State) {
			s.Tests.Enabled, s.History[0].Tested, s.History[0].TestFailed = true, true, true
			s.Failures[Install] = 1
			s.Policies[Install] = Policy{Retries: 1}
		}), Uninstall, 0},
		"failed tests that are ignored: done": {installed(func(s *State) {
			s.Tests = Tests{true, true}
			s.History[0].Tested, s.History[0].TestFailed = true, true
			s.Failures[Install] = 1
		}), Done, 0},
		"drift detection: compare":          {installed(func(s *State) { s.Drift.Detect = true }), Compare, 0},
		"drift: correct":                    {installed(func(s *State) { s.Drift = Drift{Detect: true, Correct: true, Compared: true, Objects: 1} }), Correct, 0},
		"drift that is only reported: done": {installed(func(s *State) { s.Drift = Drift{Detect: true, Compared: true, Objects: 1} }), Done, 0},
		"corrected drift: done": {installed(func(s *State) {
			s.Drift = Drift{Detect: true, Correct: true, Compared: true, Objects: 1, Corrected: true}
		}), Done, 0},
		"a failed upgrade without remediation: stop":           {upgraded(StatusFailed, Policy{}, 1), Stop, 0},
		"a failed upgrade with other inputs: upgrade":          {upgraded(StatusFailed, Policy{}, 0), Upgrade, 0},
		"a failed upgrade with retries: roll back":             {upgraded(StatusFailed, Policy{Retries: 1, RemediateLast: true}, 1), Rollback, 1},
		"the last retry failed: roll back":                     {upgraded(StatusFailed, Policy{Retries: 1, RemediateLast: true}, 2), Rollback, 1},
		"a failed upgrade by policy: uninstall":                {upgraded(StatusFailed, Policy{Retries: 1, RemediateLast: true, Uninstall: true}, 1), Uninstall, 0},
		"a failed upgrade with a pause: pause":                 {tried(upgraded(StatusFailed, Policy{Retry: time.Minute}, 1)), Pause, 0},
		"a failed upgrade whose pause is over: upgrade":        {upgraded(StatusFailed, Policy{Retry: time.Minute}, 1), Upgrade, 0},
		"an install that stored nothing, with a pause: pause":  {tried(nothing(Policy{Retry: time.Minute})), Pause, 0},
		"nothing was stored and the pause is over: install":    {nothing(Policy{Retry: time.Minute}), Install, 0},
		"an upgrade that stored nothing, with a pause: pause":  {tried(outdatedAgain(Policy{Retry: time.Minute})), Pause, 0},
		"it stored nothing and the pause is over: upgrade":     {outdatedAgain(Policy{Retry: time.Minute}), Upgrade, 0},
		"an upgrade that stored nothing: stop":                 {outdatedAgain(Policy{}), Stop, 0},
		"the version before is not stored any more: upgrade":   {without(upgraded(StatusFailed, Policy{Retries: 1, RemediateLast: true}, 1)), Upgrade, 0},
		"it is not stored and there are no more retries: stop": {without(upgraded(StatusFailed, Policy{Retries: 1, RemediateLast: true}, 2)), Stop, 0},
		"rolled back after the last retry: stop":               {rolledBack(2), Stop, 0},
		"rolled back with another retry: upgrade":              {rolledBack(1), Upgrade, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Next(c.state); got.Action != c.want || got.To != c.to {
				t.Errorf("decided %+v, want %s %d", got, c.want, c.to)
			}
		})
	}
}

func tried(s State) State {
	s.Tried = true
	return s
}

// nothing is a release whose install failed before a version was stored.
func nothing(policy Policy) State {
	return State{Wanted: wanted, LastAction: Install, Failures: map[Action]int64{Install: 1}, Policies: map[Action]Policy{Install: policy}}
}

// outdatedAgain is a release whose upgrade failed before a version was stored.
func outdatedAgain(policy Policy) State {
	return installed(func(s *State) {
		s.Wanted.ChartVersion, s.LastAction, s.Failures[Upgrade], s.Policies[Upgrade] = "2.0.0", Upgrade, 1, policy
	})
}

// without has lost the version before the last one.
func without(s State) State {
	s.Stored = s.Stored[:1]
	return s
}

// rolledBack is a release after a failed upgrade to other values and a rollback.
func rolledBack(failures int64) State {
	return installed(func(s *State) {
		s.Wanted.Config = "other"
		s.LastAction, s.Failures[Upgrade], s.Policies[Upgrade] = Upgrade, failures, Policy{Retries: 1, RemediateLast: true}
	})
}

func TestLawsOfNext(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	yes := func() bool { return r.IntN(3) == 0 }
	word := func(words ...string) string { return words[r.IntN(len(words))] }
	for range 100_000 {
		s := State{Wanted: wanted, Forced: yes(), LastAction: Action(word("", "install", "upgrade")), Tests: Tests{yes(), yes()},
			Failures: map[Action]int64{Install: int64(r.IntN(4)), Upgrade: int64(r.IntN(4))}, Policies: map[Action]Policy{},
			Drift: Drift{Detect: yes(), Correct: yes(), Compared: yes(), Corrected: yes(), Objects: r.IntN(2)}}
		for _, a := range []Action{Install, Upgrade} {
			s.Policies[a] = Policy{Retries: r.IntN(4) - 1, RemediateLast: yes(), Uninstall: yes()}
		}
		for n := r.IntN(4); n > 0; n-- {
			v := Version{Number: n, Status: word(StatusDeployed, StatusFailed, StatusSuperseded, StatusUninstalled, "pending-upgrade"), Digest: word("a", "b"), Wanted: wanted}
			if yes() {
				v.Config = "other"
			}
			s.Stored = append(s.Stored, v)
			if !yes() {
				s.History = append(s.History, Known{Number: n, Digest: word("a", "b"), Status: v.Status, Tested: yes(), TestFailed: yes()})
			}
		}
		step := Next(s)
		if err := law(s, step); err != "" {
			t.Fatalf("%+v\n%+v: %s", s, step, err)
		}
	}
}

// law returns the law that a step breaks.
func law(s State, step Step) string {
	pending := len(s.Stored) > 0 && s.Stored[0].Status == "pending-upgrade"
	switch {
	case pending != (step.Action == Unlock):
		return "a pending release is unlocked first, and no other"
	case step.Action == Rollback && !known(s, step.To):
		return "a rollback is to a version that is stored, ours and good"
	case step.Action == Install && len(s.Stored) > 0 && s.Stored[0].Status != StatusUninstalled:
		return "nothing is installed over a stored release"
	case step.Action == Compare && s.Drift.Compared, step.Action == Correct && (s.Drift.Corrected || !s.Drift.Correct):
		return "drift is looked for and corrected once an attempt"
	case step.Action == Install && !s.Forced && s.Policies[Install].exhausted(s.Failures[Install]) && s.Failures[Install] > 0:
		return "no more installs than the policy allows"
	}
	return ""
}

func known(s State, to int) bool {
	for _, v := range s.Stored {
		for _, k := range s.History {
			if v.Number == to && k.Number == to && v.Digest == k.Digest && to < s.Stored[0].Number && (k.Status == StatusDeployed || k.Status == StatusSuperseded) {
				return true
			}
		}
	}
	return false
}
