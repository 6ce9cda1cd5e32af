// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"slices"
	"strings"
)

// ByHand says whether people ask for such runs, and never a stack itself: their end is neither success nor failure of
// what the stack is declared to be.
func (o Operation) ByHand() bool { return o == OperationState || o == OperationShell }

// PurposePerson is that of runs that a person asked for.
const PurposePerson Purpose = "person"

// ErrBusy says that a stack has a run in hand, so that another cannot begin.
var ErrBusy = errors.New("another run is in hand")

// AtServer says whether the server itself does what the run is for: it keeps the state, and no tool is needed to put
// another in its place.
func (s *Spec) AtServer() bool {
	return s.Operation == OperationState && s.Backend.Kind == BackendManaged && s.StateChange != nil &&
		(s.StateChange.Verb == StatePush || s.StateChange.Verb == StateRollback)
}

// Title says what a run is in words, such as "state mv" or "apply".
func (s *Spec) Title() string {
	title := string(s.Operation)
	if s.StateChange != nil {
		title = "state " + string(s.StateChange.Verb)
		if s.StateChange.Preview {
			title += " (preview)"
		}
	}
	if s.Destroy {
		title += " (destroy)"
	}
	return title
}

// ShellDir is the directory, in that of the runner, with the runs that people carry out themselves: the run's own
// directory by its id, and beside it a file that whoever carries it out holds locked, see [ShellLock].
const ShellDir = "shells"

// ShellLock is the name, in ShellDir, of the file that is locked for as long as a person has the run.
func ShellLock(id string) string { return id + ".lock" }

// verbs are what can be done with a state, and how many arguments that takes.
var verbs = map[StateVerb]struct{ least, most int }{
	StateMove: {2, 2}, StateRemove: {1, 1000}, StateImport: {2, 2}, StatePush: {0, 0}, StateRollback: {1, 1},
}

// Check says whether the change is one that can be asked for: its words come from people and reach the tool's command
// line, where they must not be taken for flags.
func (c *StateChange) Check() error {
	want, known := verbs[c.Verb]
	switch {
	case !known:
		return errors.New("the verb " + quoted(string(c.Verb)) + " is not one of mv, rm, import, push and rollback")
	case len(c.Args) < want.least || len(c.Args) > want.most:
		return errors.New("state " + string(c.Verb) + " does not take so many, or so few, arguments")
	case c.Verb == StatePush && len(c.State) == 0:
		return errors.New("state push needs the state that is to be pushed")
	case c.Verb == StatePush && c.Preview:
		return errors.New("state push has no preview here: whoever has the state can compare it")
	}
	for _, arg := range c.Args {
		if arg == "" || strings.HasPrefix(arg, "-") || strings.ContainsFunc(arg, func(r rune) bool { return r < ' ' }) {
			return errors.New("state " + string(c.Verb) + ": " + quoted(arg) + " is neither an address nor an id")
		}
	}
	return nil
}

func quoted(s string) string { return `"` + strings.ToValidUTF8(s, "?") + `"` }

// withoutState returns a copy without the state to push.
func (c *StateChange) withoutState() *StateChange {
	if c == nil {
		return nil
	}
	clone := *c
	clone.Args, clone.State = slices.Clone(c.Args), nil
	return &clone
}

// WithoutPushedState returns the record without the state that the run is to push.
func (r Record) WithoutPushedState() Record {
	r.Spec.StateChange = r.Spec.StateChange.withoutState()
	return r
}

// ShellGrant is what a person's own process needs to carry out a run of OperationShell, on the machine where runs are
// carried out.
type ShellGrant struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	// Host is the machine's name; URL the address in its connection file, by which a process knows that it is there.
	Host string `json:"host"`
	URL  string `json:"url"`
	// Dir is the runner's directory, WorkRoot that of working directories; the others are the programs to use.
	Dir            string `json:"dir"`
	WorkRoot       string `json:"workRoot"`
	ProviderMirror string `json:"providerMirror,omitempty"`
	ProviderStore  string `json:"providerStore,omitempty"`
	Tofu           string `json:"tofu"`
	Tools          string `json:"tools,omitempty"`
	Sandbox        string `json:"sandbox"`
}

// InstalledTool is a program that runs can use.
type InstalledTool struct {
	// Name is "tofu" or "terraform".
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path"`
	// Runner is the machine where it is installed.
	Runner string `json:"runner,omitempty"`
	// Default is true for the one that stacks get which ask for none.
	Default bool `json:"default,omitempty"`
	// Problem says why it cannot be used; empty when it can.
	Problem string `json:"problem,omitempty"`
}

// Request is what a person asks to be done with a stack by hand.
type Request struct {
	// Operation is OperationState or OperationShell.
	Operation Operation
	Change    *StateChange
	// Expect is the digest of the state that the person has looked at; empty for whatever is there.
	Expect string
	By     string
}

// RefusedError says why what a person asked for is not done now. Nothing was changed.
type RefusedError struct {
	// Message is for the person, with what to do about it.
	Message string
	// Forbidden is true when waiting does not help: the server does not allow it.
	Forbidden bool
}

func (e *RefusedError) Error() string { return e.Message }
