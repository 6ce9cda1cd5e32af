// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"slices"
	"time"
)

// Stack names a stack; UID distinguishes it from an earlier one of the same name.
type Stack struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Kind says what is used.
type Kind string

// The kinds.
const (
	Module   Kind = "module"
	Provider Kind = "provider"
	// Tool is tofu or terraform itself.
	Tool Kind = "tool"
)

// Use is the use of one version of a module, provider or tool.
type Use struct {
	Kind Kind `json:"kind"`
	// Keys are the positions of the calls in the program, such as "network.subnets"; empty for
	// others.
	Keys    []string `json:"keys,omitempty"`
	Source  string   `json:"source"`
	Version string   `json:"version,omitempty"`
	// Constraint is as it is written; calls with different ones are different uses.
	Constraint string `json:"constraint,omitempty"`
	// Since is when the stack first had this version.
	Since time.Time `json:"since"`
}

// Set is what a run resolved.
type Set struct {
	Run  string    `json:"run"`
	At   time.Time `json:"at"`
	Uses []Use     `json:"uses"`
}

// Entry is what is known about one stack.
type Entry struct {
	Stack Stack `json:"stack"`
	// Applied is what the stack's resources were last made with, Planned what a newer plan with
	// changes resolved; either may be nil.
	Applied *Set `json:"applied,omitempty"`
	Planned *Set `json:"planned,omitempty"`
	// LastRun is the last run of any kind.
	LastRun   string    `json:"lastRun"`
	LastRunAt time.Time `json:"lastRunAt"`
	Outcome   string    `json:"outcome"`
}

// Run is an ended run.
type Run struct {
	Stack    Stack
	ID       string
	Finished time.Time
	Outcome  string
	// Succeeded, Planned (it came to a plan), Changes (the plan has some), Applied, ApplyStarted and
	// Destroy describe what it did.
	Succeeded, Planned, Changes, Applied, ApplyStarted, Destroy bool
	// Uses is nil if the run did not resolve anything.
	Uses []Use
	// Known is true if Uses is complete, even if it is empty.
	Known bool
}

// after returns the entry after a run, and whether its sets have changed. It does not change e.
func (e Entry) after(r Run) (next Entry, changed bool) {
	next = e
	next.Stack, next.LastRun, next.LastRunAt, next.Outcome = r.Stack, r.ID, r.Finished, r.Outcome
	switch {
	case r.Destroy && r.Applied:
		next.Applied, next.Planned = nil, nil
		return next, e.Applied != nil || e.Planned != nil
	case r.Destroy || !r.Known:
		return next, false
	case r.Applied, r.Succeeded && r.Planned && !r.Changes:
		next.Applied, next.Planned = e.set(r), nil
		return next, e.Planned != nil || !same(e.Applied, next.Applied)
	case r.Succeeded && r.Planned, r.ApplyStarted:
		next.Planned = e.set(r)
		return next, !same(e.Planned, next.Planned)
	}
	return next, false
}

// set is the set of a run. Versions that the stack had before keep their time.
func (e Entry) set(r Run) *Set {
	s := &Set{Run: r.ID, At: r.Finished, Uses: folded(r.Uses)}
	for i := range s.Uses {
		use := &s.Uses[i]
		use.Since = r.Finished
		for _, before := range []*Set{e.Applied, e.Planned} {
			if before == nil {
				continue
			}
			for _, b := range before.Uses {
				if b.Kind == use.Kind && b.Source == use.Source && b.Version == use.Version && b.Since.Before(use.Since) {
					use.Since = b.Since
				}
			}
		}
	}
	return s
}

// folded joins the calls that differ in their position only, and sorts.
func folded(uses []Use) []Use {
	var all []Use
	for _, u := range uses {
		at := slices.IndexFunc(all, func(o Use) bool {
			return o.Kind == u.Kind && o.Source == u.Source && o.Version == u.Version && o.Constraint == u.Constraint
		})
		if at < 0 {
			u.Keys = slices.Clone(u.Keys)
			all = append(all, u)
			continue
		}
		all[at].Keys = append(all[at].Keys, u.Keys...)
	}
	slices.SortFunc(all, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Source, b.Source), Compare(a.Version, b.Version), cmp.Compare(a.Constraint, b.Constraint))
	})
	return all
}

// same reports whether two sets have the same uses.
func same(a, b *Set) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Uses, b.Uses, func(a, b Use) bool {
		return a.Kind == b.Kind && a.Source == b.Source && a.Version == b.Version && a.Constraint == b.Constraint && slices.Equal(a.Keys, b.Keys)
	})
}
