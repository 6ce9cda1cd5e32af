// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"fmt"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
)

// Phase is how far a refactoring is.
type Phase string

// The phases, see the package's comment.
const (
	Proposed  Phase = "proposed"
	Locking   Phase = "locking"
	Writing   Phase = "writing"
	Written   Phase = "written"
	Applied   Phase = "applied"
	Reverting Phase = "reverting"
	Failed    Phase = "failed"
)

// Open reports whether a server has to go on with it.
func (p Phase) Open() bool { return p == Locking || p == Writing || p == Written || p == Reverting }

// Record is a refactoring.
type Record struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	// By is who proposed it, AppliedBy who applied it.
	By        string `json:"by,omitempty"`
	AppliedBy string `json:"appliedBy,omitempty"`
	// Unpreviewed: it was applied whatever its previews said.
	Unpreviewed bool      `json:"unpreviewed,omitempty"`
	Created     time.Time `json:"created"`
	// Changed is when it reached its phase.
	Changed time.Time `json:"changed"`
	Phase   Phase     `json:"phase"`
	// Message says why it failed, or why it is a proposal again.
	Message string `json:"message,omitempty"`
	// Undoes is the refactoring that this one reverses, UndoneBy the one that reversed it.
	Undoes   string `json:"undoes,omitempty"`
	UndoneBy string `json:"undoneBy,omitempty"`

	// Steps and Moved are empty in lists, which have MovedInstances.
	Steps          []moves.Step  `json:"steps,omitempty"`
	Moved          []moves.Moved `json:"moved,omitempty"`
	MovedInstances int           `json:"movedInstances,omitempty"`
	// Members are the states that change, sorted by stack.
	Members []Member `json:"members"`
}

// Member is a state that changes.
type Member struct {
	Stack     string            `json:"stack"`
	UID       string            `json:"uid,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	Suffix    string            `json:"suffix"`
	Labels    map[string]string `json:"labels,omitempty"`
	Scope     scope.Scope       `json:"tenant,omitempty"`
	// Program is which program the stack had when it was proposed.
	Program Program `json:"program,omitzero"`
	// Before is the state that it was made from; zero if there was none. After is the new one.
	Before state.Mark `json:"before,omitzero"`
	After  state.Mark `json:"after"`
	// Had and Has are the numbers of resource instances.
	Had int `json:"had"`
	Has int `json:"has"`
	// Version is the version of the state that has the new content, once it is written.
	Version string `json:"version,omitempty"`
	// NotRestored says why the state did not get its former content again after a failure.
	NotRestored string `json:"notRestored,omitempty"`
}

// Program identifies the program of a stack, as far as its object shows it. A preview says nothing about
// another one.
type Program struct {
	Generation int64  `json:"generation,omitempty"`
	Revision   string `json:"revision,omitempty"`
}

// Stack is a stack whose state may change.
type Stack struct {
	Key    state.Key
	Labels map[string]string
	// Program is the one that the stack has.
	Program Program
	// Existing is true if the stack was applied before, so that a missing state is an error.
	Existing bool
	// Suspended stacks run nothing until they are resumed.
	Suspended bool
}

// Member returns the member of a stack.
func (r *Record) Member(stack string) (*Member, bool) {
	for i := range r.Members {
		if r.Members[i].Stack == stack {
			return &r.Members[i], true
		}
	}
	return nil, false
}

// Stacks are the names of the members.
func (r *Record) Stacks() (names []string) {
	for _, m := range r.Members {
		names = append(names, m.Stack)
	}
	return names
}

// Gaining are the stacks into which a refactoring moves resources.
func (r *Record) Gaining() map[string]bool {
	names := map[string]bool{}
	for _, m := range r.Moved {
		if m.ToState != m.State && m.ToState != "" {
			names[m.ToState] = true
		}
	}
	return names
}

// Losing are the stacks out of which it moves or removes resources: those that gain by its undo.
func (r *Record) Losing() map[string]bool {
	names := map[string]bool{}
	for _, m := range r.Moved {
		if m.ToState != m.State {
			names[m.State] = true
		}
	}
	return names
}

// Reason describes the operation in a version of a state.
func (r *Record) Reason() string {
	verb := "refactoring"
	if r.Undoes != "" {
		verb = "undo of the refactoring " + r.Undoes
	}
	by := r.AppliedBy
	if by == "" {
		by = "an unknown user"
	}
	return fmt.Sprintf("%s %s by %s: %s", verb, r.ID, by, strings.Join(r.Stacks(), ", "))
}

func (r *Record) key(m *Member) state.Key {
	return state.Key{Namespace: r.Namespace, Workspace: m.Workspace, Suffix: m.Suffix, Stack: m.Stack, UID: m.UID, Scope: m.Scope}
}

// RefusedError says why a refactoring is not possible. Nothing was changed.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

func refused(format string, args ...any) error {
	return &RefusedError{Message: fmt.Sprintf(format, args...)}
}
