// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// Kept is how many revisions are kept, the target included: as many as Deployments keep by default.
const Kept = 10

// Revision is a spec of a definition that was accepted.
type Revision struct {
	Number int64 `json:"number"`
	// Generation is that of the definition, and Accepted the time when it was accepted.
	Generation int64     `json:"generation,omitempty"`
	Accepted   time.Time `json:"accepted,omitzero"`
	// Definition has the spec, and the annotations about Helm.
	Definition *appv1.ApplicationDefinition `json:"definition,omitempty"`
}

// State is the small part of a ledger.
type State struct {
	// Base and Target are the numbers of these revisions.
	Base   int64 `json:"base"`
	Target int64 `json:"target"`
	// Generation and Accepted are the target's.
	Generation int64     `json:"generation,omitempty"`
	Accepted   time.Time `json:"accepted,omitzero"`
	// Digest is that of the target's content, also of one that is too large to be kept; empty in ledgers
	// of older servers.
	Digest string `json:"digest,omitempty"`
	// Began is when the last rollout began, Ended when the last complete one ended.
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
}

// Complete reports whether all instances have the target.
func (s State) Complete() bool { return s.Base == s.Target }

// Ledger is what a kind was, is and becomes.
type Ledger struct {
	State
	// accepted is the packed target, earlier are the packed revisions before it.
	accepted, earlier string
}

// Read reads the ledger of a kind. A kind of a server that kept none has one revision. Without any, the
// ledger is empty.
func Read(annotations map[string]string) Ledger {
	l := Ledger{accepted: annotations[appv1.AnnotationAccepted], earlier: annotations[appv1.AnnotationRevisions]}
	err := json.Unmarshal([]byte(annotations[appv1.AnnotationRollout]), &l.State)
	if bad := err != nil || l.Target < 1 || l.Base < 1 || l.Base > l.Target; bad {
		l.State, l.earlier = State{}, ""
		if l.accepted != "" {
			l.Base, l.Target = 1, 1
		}
	}
	return l
}

// Write adds the ledger to the annotations of a kind.
func (l Ledger) Write(annotations map[string]string) {
	for key, text := range map[string]string{appv1.AnnotationAccepted: l.accepted, appv1.AnnotationRevisions: l.earlier, appv1.AnnotationRollout: l.state()} {
		if delete(annotations, key); text != "" {
			annotations[key] = text
		}
	}
}

func (l Ledger) state() string {
	if l.Target == 0 {
		return ""
	}
	text, err := json.Marshal(l.State)
	if err != nil {
		return "" // it consists of numbers and times
	}
	return string(text)
}

// Has reports whether the target has the content of a definition.
func (l Ledger) Has(d *appv1.ApplicationDefinition) bool {
	accepted := Accepted(d)
	if l.Digest == "" {
		return l.Target > 0 && accepted != "" && l.accepted == accepted
	}
	return l.Target > 0 && l.Digest == Digest(d) && (l.accepted == "") == (accepted == "")
}

// Accept returns the ledger with a definition as its target. whole is false if the base finds no room:
// then the ledger is complete at once.
func (l Ledger) Accept(d *appv1.ApplicationDefinition, now time.Time) (next Ledger, whole bool) {
	if l.Has(d) {
		return l, true
	}
	now = now.UTC().Truncate(time.Second)
	next = Ledger{State: State{Base: l.Base, Target: l.Target + 1, Generation: d.Generation, Accepted: now, Digest: Digest(d), Began: l.Began, Ended: l.Ended}, accepted: Accepted(d)}
	if l.Complete() {
		next.Began = now
	}
	earlier := l.all()
	if len(earlier) > 0 && next.accepted != "" {
		whole = next.keep(earlier)
	}
	if !whole {
		next.Base, next.Ended, next.earlier = next.Target, now, ""
	}
	return next, whole || l.Target == 0
}

// keep stores as many earlier revisions as there is room for, and reports whether the base is among
// them.
func (l *Ledger) keep(earlier []Revision) (whole bool) {
	has := func() bool { return slices.ContainsFunc(earlier, func(r Revision) bool { return r.Number == l.Base }) }
	for has() {
		if l.earlier = pack(earlier); len(earlier) < Kept && len(l.earlier)+len(l.accepted) <= maxAnnotations {
			return true
		}
		oldest := slices.IndexFunc(earlier, func(r Revision) bool { return r.Number != l.Base })
		if oldest < 0 {
			return false
		}
		earlier = slices.Delete(earlier, oldest, oldest+1)
	}
	return false
}

// Completed returns the ledger of a rollout that is complete.
func (l Ledger) Completed(now time.Time) Ledger {
	l.Base, l.Ended = l.Target, now.UTC().Truncate(time.Second)
	return l
}

// all are all revisions, the oldest first. Damaged ones are left out.
func (l Ledger) all() (list []Revision) {
	if l.earlier != "" && !unpack(l.earlier, &list) {
		list = nil
	}
	list = slices.DeleteFunc(list, func(r Revision) bool { return r.Number < 1 || r.Number >= l.Target || r.Definition == nil })
	var target appv1.ApplicationDefinition
	if unpack(l.accepted, &target) {
		list = append(list, Revision{Number: l.Target, Generation: l.Generation, Accepted: l.Accepted, Definition: &target})
	}
	slices.SortFunc(list, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// Revisions are all revisions of a definition, the oldest first.
func (l Ledger) Revisions(name string) []Revision {
	list := l.all()
	for i := range list {
		list[i].Definition.Name = name
	}
	return list
}

// Previous is the number of the revision that undoes the last change: the base of an unfinished rollout,
// else the one before the target; 0 if it is not kept.
func (l Ledger) Previous() int64 {
	if !l.Complete() {
		return l.Base
	}
	list := l.all()
	if len(list) < 2 {
		return 0
	}
	return list[len(list)-2].Number
}
