// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ByHand reports whether only people request such runs. Their results say nothing about the stack.
func (o Operation) ByHand() bool { return o == OperationState || o == OperationShell }

// PurposePerson is for runs that a person requested.
const PurposePerson Purpose = "person"

// ErrBusy means that a stack already has an active run.
var ErrBusy = errors.New("another run is in progress")

// AtServer reports whether the server executes the run itself, because it only replaces the state.
func (s *Spec) AtServer() bool {
	return s.Operation == OperationState && s.Backend.Kind == BackendManaged && s.StateChange != nil && !s.StateChange.Preview &&
		(s.StateChange.Verb == StatePush || s.StateChange.Verb == StateRollback)
}

// StateVersion is the version of the state that the run gets in place of the current one; empty for that.
func (s *Spec) StateVersion() string {
	if c := s.StateChange; s.Operation == OperationState && c != nil && c.Verb == StateRollback && c.Preview && len(c.Args) == 1 {
		return c.Args[0]
	}
	return ""
}

// Title names the operation of a run, such as "state mv" or "apply".
func (s *Spec) Title() string {
	title := string(s.Operation)
	switch {
	case s.StateChange == nil:
	case s.StateChange.Verb.Inspects():
		title = strings.Join(s.StateChange.Verb.Words(), " ")
	default:
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

// ShellDir is the directory, below the runner's, with the runs of shells: for each a directory
// named by the run's id, and the file [ShellLock].
const ShellDir = "shells"

// ShellLock is the name, in ShellDir, of the file that a shell's process holds locked.
func ShellLock(id string) string { return id + ".lock" }

// verbs are the changes of a state and their numbers of arguments.
var verbs = map[StateVerb]struct{ least, most int }{
	StateMove: {2, 2}, StateRemove: {1, 1000}, StateImport: {2, 2}, StatePush: {0, 0}, StateRollback: {1, 1}, StateMigrate: {0, 0},
	StateUnlock: {1, 1}, StateList: {0, 1000}, StateShow: {1, 1},
	StateTaint: {1, 1}, StateUntaint: {1, 1}, StateReplaceProvider: {2, 2}, StateRefresh: {0, 1000}, StateConsole: {0, 0}, StateGraph: {0, 0},
	StateProvidersLock: {1, maxPlatforms},
}

// maxPlatforms limits the platforms of a lock file: for each, the tool downloads all providers.
const maxPlatforms = 20

// platform is what the tool calls a target platform, such as linux_amd64.
var platform = regexp.MustCompile(`^[a-z0-9]{1,32}_[a-z0-9]{1,32}$`)

// MaxInput limits the expressions of a console.
const MaxInput = 64 << 10

// Check validates a change. Its arguments come from people and reach the tool's command line, where
// they must not become flags.
func (c *StateChange) Check() error {
	want, known := verbs[c.Verb]
	switch {
	case !known:
		return errors.New("the verb " + quoted(string(c.Verb)) + " is not one of " + strings.Join(knownVerbs(), ", "))
	case len(c.Args) < want.least || len(c.Args) > want.most:
		return errors.New("state " + string(c.Verb) + ": wrong number of arguments")
	case c.Verb == StatePush && len(c.State) == 0:
		return errors.New("state push requires a state")
	case c.Verb == StatePush && c.Preview:
		return errors.New("state push has no preview; compare the states before you push")
	case c.Preview && (c.Verb == StateUnlock || c.Verb == StateList || c.Verb == StateShow):
		return errors.New("state " + string(c.Verb) + " has no preview")
	case c.BreakLock != "" && c.Verb != StateMigrate:
		return errors.New("state " + string(c.Verb) + " breaks no lock; only a migration does")
	case c.Accept && c.Verb != StateMigrate:
		return errors.New("state " + string(c.Verb) + " has nothing to accept; only a migration does")
	case c.Verb.Inspects() && !c.Preview:
		return errors.New(string(c.Verb) + " changes nothing: it is a preview")
	case c.Verb == StateConsole && (len(c.Input) == 0 || len(c.Input) > MaxInput):
		return fmt.Errorf("console requires expressions, of at most %d bytes", MaxInput)
	}
	if i := slices.IndexFunc(c.Args, func(a string) bool { return !platform.MatchString(a) }); c.Verb == StateProvidersLock && i >= 0 {
		return fmt.Errorf("%s is not a platform such as linux_amd64 or darwin_arm64", quoted(c.Args[i]))
	}
	for _, arg := range append(slices.Clone(c.Args), cmp.Or(c.BreakLock, "none")) {
		if arg == "" || strings.HasPrefix(arg, "-") || strings.ContainsFunc(arg, func(r rune) bool { return r < ' ' }) {
			return errors.New("state " + string(c.Verb) + ": " + quoted(arg) + " is neither an address nor an id")
		}
	}
	return nil
}

func knownVerbs() (names []string) {
	for verb := range verbs {
		names = append(names, string(verb))
	}
	slices.Sort(names)
	return names
}

func quoted(s string) string { return `"` + strings.ToValidUTF8(s, "?") + `"` }

// WithoutPushedState returns the record without the state to push.
func (r Record) WithoutPushedState() Record {
	if r.Spec.StateChange != nil {
		change := *r.Spec.StateChange
		change.State = nil
		r.Spec.StateChange = &change
	}
	return r
}

// ShellGrant has the data that a shell's process on the runner's machine needs to execute its run.
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

// RefusedError says why the server refuses a person's request. Nothing was changed.
type RefusedError struct {
	// Message is for the person, and includes the next step.
	Message string
	// Forbidden is true if the server does not allow it, so that waiting does not help.
	Forbidden bool
	// Policy is true if policies refuse it.
	Policy bool
}

func (e *RefusedError) Error() string { return e.Message }
