// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestStateChangesThatCanBeAskedFor(t *testing.T) {
	for sentence, test := range map[string]struct {
		change  StateChange
		problem string
	}{
		"a move":                            {StateChange{Verb: StateMove, Args: []string{"a.b", `module.c["d e"].a.b`}}, ""},
		"a move of one":                     {StateChange{Verb: StateMove, Args: []string{"a.b"}}, "arguments"},
		"several that are forgotten":        {StateChange{Verb: StateRemove, Args: []string{"a.b", "a.c"}}, ""},
		"an import":                         {StateChange{Verb: StateImport, Args: []string{"a.b", "i-1"}}, ""},
		"an argument that would be a flag":  {StateChange{Verb: StateRemove, Args: []string{"-state=/etc/passwd"}}, "neither an address nor an id"},
		"an empty argument":                 {StateChange{Verb: StateRemove, Args: []string{""}}, "neither an address nor an id"},
		"a line break":                      {StateChange{Verb: StateImport, Args: []string{"a.b", "x\ny"}}, "neither an address nor an id"},
		"a push":                            {StateChange{Verb: StatePush, State: []byte("{}")}, ""},
		"a push of nothing":                 {StateChange{Verb: StatePush}, "requires a state"},
		"a rollback":                        {StateChange{Verb: StateRollback, Args: []string{"00000000000000000001-1"}}, ""},
		"a lock that is broken":             {StateChange{Verb: StateUnlock, Args: []string{"acme/net"}}, ""},
		"a lock without an id":              {StateChange{Verb: StateUnlock}, "arguments"},
		"a lock that would be a flag":       {StateChange{Verb: StateUnlock, Args: []string{"-force"}}, "neither an address nor an id"},
		"a list":                            {StateChange{Verb: StateList}, ""},
		"a resource that is shown":          {StateChange{Verb: StateShow, Args: []string{"a.b"}}, ""},
		"a verb that would do other things": {StateChange{Verb: "apply"}, "is not one of console, graph, import, list, migrate, mv,"},
		"a mark":                            {StateChange{Verb: StateTaint, Args: []string{"a.b"}}, ""},
		"a mark of two":                     {StateChange{Verb: StateUntaint, Args: []string{"a.b", "a.c"}}, "arguments"},
		"a refresh of all":                  {StateChange{Verb: StateRefresh}, ""},
		"a refresh with a flag":             {StateChange{Verb: StateRefresh, Args: []string{"-destroy"}}, "neither an address nor an id"},
		"a provider for another":            {StateChange{Verb: StateReplaceProvider, Args: []string{"a/b", "c.example/a/b"}}, ""},
		"expressions":                       {StateChange{Verb: StateConsole, Preview: true, Input: []byte("1")}, ""},
		"expressions that would change":     {StateChange{Verb: StateConsole, Input: []byte("1")}, "changes nothing"},
		"no expressions":                    {StateChange{Verb: StateConsole, Preview: true}, "requires expressions"},
		"too many expressions":              {StateChange{Verb: StateConsole, Preview: true, Input: make([]byte, MaxInput+1)}, "at most"},
		"a graph":                           {StateChange{Verb: StateGraph, Preview: true}, ""},
		"a lock file":                       {StateChange{Verb: StateProvidersLock, Preview: true, Args: []string{"linux_amd64", "darwin_arm64"}}, ""},
		"a lock file for no platform":       {StateChange{Verb: StateProvidersLock, Preview: true}, "wrong number of arguments"},
		"a lock file for a flag":            {StateChange{Verb: StateProvidersLock, Preview: true, Args: []string{"-fs-mirror=/etc"}}, "is not a platform"},
		"a lock file for a path":            {StateChange{Verb: StateProvidersLock, Preview: true, Args: []string{"linux_amd64/../x"}}, "is not a platform"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := test.change.Check()
			if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %v, want %q", err, test.problem)
			}
		})
	}
}

func TestWhatTheServerDoesItself(t *testing.T) {
	for sentence, test := range map[string]struct {
		kind BackendKind
		verb StateVerb
		want bool
		plan bool
	}{
		"pushes what it keeps":                {BackendManaged, StatePush, true, false},
		"goes back in what it keeps":          {BackendManaged, StateRollback, true, false},
		"leaves the plan of going back to it": {BackendManaged, StateRollback, false, true},
		"leaves moves to the tool":            {BackendManaged, StateMove, false, false},
		"leaves the state of others to them":  {BackendOwn, StatePush, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := Spec{Operation: OperationState, Backend: Backend{Kind: test.kind}, StateChange: &StateChange{Verb: test.verb, Preview: test.plan}}
			if got := s.AtServer(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestARecordIsPublicWithoutThePushedState(t *testing.T) {
	rec := Record{Spec: Spec{StateChange: &StateChange{Verb: StatePush, State: []byte("secret")}}}
	for name, got := range map[string]Record{"public": rec.Public(), "without": rec.WithoutPushedState()} {
		if got.Spec.StateChange.State != nil || got.Spec.StateChange.Verb != StatePush {
			t.Errorf("%s: %+v", name, got.Spec.StateChange)
		}
	}
	if string(rec.Spec.StateChange.State) != "secret" {
		t.Error("the record itself has changed")
	}
}

func TestAnswersOfAConsoleAreForThePersonWhoAsked(t *testing.T) {
	rec := Record{By: "ann", Spec: Spec{StateChange: &StateChange{Verb: StateConsole, Input: []byte("var.x")}},
		Result: &Result{FailedStep: StepPlan, Text: "geheim", Error: "geheim", Diagnosis: &Diagnosis{}, Warnings: []string{"geheim"}}}
	if got := rec.PublicTo("ann"); got.Result.Text != "geheim" || string(got.Spec.StateChange.Input) != "var.x" {
		t.Errorf("ann gets %+v", got)
	}
	got := rec.PublicTo("bob")
	if text := fmt.Sprintf("%+v", *got.Result); strings.Contains(text, "geheim") || got.Result.Diagnosis != nil || got.Spec.StateChange.Input != nil {
		t.Errorf("bob gets %s and %+v", text, got.Spec.StateChange)
	}
	if rec.Result.Text != "geheim" || rec.Spec.StateChange.Input == nil {
		t.Error("the record itself has changed")
	}
}

// TestWhichVerbsHavePreviews: a flag that a verb does not know must not be ignored, least of all one that asks for a preview.
func TestWhichVerbsHavePreviews(t *testing.T) {
	const only, both, none = "only", "both", "none"
	for verb, previews := range map[StateVerb]string{
		StateMove: both, StateRemove: both, StateImport: both, StateRollback: both, StateMigrate: both,
		StateTaint: both, StateUntaint: both, StateReplaceProvider: both, StateRefresh: both,
		StatePush: none, StateUnlock: none, StateList: none, StateShow: none,
		StateConsole: only, StateGraph: only, StateProvidersLock: only,
	} {
		c := StateChange{Verb: verb, Args: slices.Repeat([]string{"a.b"}, verbs[verb].least), State: []byte("{}"), Input: []byte("1\n")}
		if verb == StateProvidersLock {
			c.Args = []string{"linux_amd64"}
		}
		if err := c.Check(); (err == nil) != (previews != only) {
			t.Errorf("%s: %v", verb, err)
		}
		c.Preview = true
		if err := c.Check(); (err == nil) != (previews != none) {
			t.Errorf("%s with a preview: %v", verb, err)
		}
		c.Preview = previews == only
		for _, more := range []func(*StateChange){func(c *StateChange) { c.BreakLock = "l1" }, func(c *StateChange) { c.Accept = true }} {
			with := c
			more(&with)
			if err := with.Check(); (err == nil) != (verb == StateMigrate) {
				t.Errorf("%+v: %v", with, err)
			}
		}
	}
}
