// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"strings"
)

// ByHand reports whether only people request such runs. Their result says nothing about the stack.
func (o Operation) ByHand() bool { return o == OperationState || o == OperationShell }

// PurposePerson is for runs that a person requested.
const PurposePerson Purpose = "person"

// ErrBusy says that a stack already has a run in hand.
var ErrBusy = errors.New("another run is in hand")

// AtServer reports whether the server executes the run itself: it can replace the state.
func (s *Spec) AtServer() bool {
	return s.Operation == OperationState && s.Backend.Kind == BackendManaged && s.StateChange != nil &&
		(s.StateChange.Verb == StatePush || s.StateChange.Verb == StateRollback)
}

// Title names what a run does, such as "state mv" or "apply".
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

// ShellDir is the directory, below the runner's, with the runs of people's own processes: a
// directory by the run's id, and the file [ShellLock].
const ShellDir = "shells"

// ShellLock is the name, in ShellDir, of the file that such a process holds locked.
func ShellLock(id string) string { return id + ".lock" }

// verbs are the changes of a state and their numbers of arguments.
var verbs = map[StateVerb]struct{ least, most int }{
	StateMove: {2, 2}, StateRemove: {1, 1000}, StateImport: {2, 2}, StatePush: {0, 0}, StateRollback: {1, 1},
}

// Check validates a change: its words come from people and reach the tool's command line, where
// they must not be flags.
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

// WithoutPushedState returns the record without the state that the run is to push.
func (r Record) WithoutPushedState() Record {
	if r.Spec.StateChange != nil {
		change := *r.Spec.StateChange
		change.State = nil
		r.Spec.StateChange = &change
	}
	return r
}

// ShellGrant is what a person's process on the runner's machine needs to execute a shell's run.
type ShellGrant struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	// Host is the machine's name, URL that in its connection file, to recognise the machine.
	Host string `json:"host"`
	URL  string `json:"url"`
	// Dir is the runner's directory, WorkRoot that of working directories. The others are programs.
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
	// Default is true for the tool of stacks that do not choose one.
	Default bool `json:"default,omitempty"`
	// Problem says why it cannot be used; else empty.
	Problem string `json:"problem,omitempty"`
}

// Request is a person's request for a run.
type Request struct {
	// Operation is OperationState or OperationShell.
	Operation Operation
	Change    *StateChange
	// Expect is the digest of the state that the person has seen; empty for any.
	Expect string
	By     string
}

// RefusedError says why a person's request is refused now. Nothing was changed.
type RefusedError struct {
	// Message is for the person, with what to do about it.
	Message string
	// Forbidden is true if the server does not allow it, so that waiting does not help.
	Forbidden bool
}

func (e *RefusedError) Error() string { return e.Message }
