// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// TenantFacts are all facts about a tenant and its objects.
type TenantFacts struct {
	Now time.Time
	// Objects are the wanted objects, dependencies first.
	Objects []Object
	// RegistryGone is the name of the registry if it no longer exists; else empty.
	RegistryGone string
}

// Object is a wanted object of a tenant.
type Object struct {
	// ID is its id in the template, Name its kind and name.
	ID, Name string
	// Needs are its dependencies.
	Needs []Need
	// Once: it is created, and not changed afterwards.
	Once bool
	// Force: it is adopted from any owner.
	Force bool
	// Skips: it is skipped if a dependency has failed. Otherwise it is created anyway.
	Skips bool
	// Waits: it counts as ready when it is ready. Otherwise as soon as it exists.
	Waits bool
	// Timeout is how long it may take to become ready; 0 means no limit.
	Timeout time.Duration
	// Broken says why it has no manifest; empty if it has one.
	Broken string
	// Refused is the error of the last write while it is too early to retry; empty for none.
	Refused string
	Live    Live
}

// Need is a dependency on another object of the template.
type Need struct {
	ID string
	// Ready is true if it must be ready, not only exist.
	Ready bool
}

// Live is the current state of the object.
type Live struct {
	Exists bool
	// Deleting is true if it is being deleted.
	Deleting bool
	// Ours is true if it belongs to the tenant. Owner is the other owner of it, or of fields in the
	// manifest; empty for none.
	Ours  bool
	Owner string
	// Lost is true if it belonged to the tenant, and another owner has taken it since.
	Lost bool
	// OnceDone is true if it is marked as created once.
	OnceDone bool
	// Marked is true if it has the labels, annotations and owner of the tenant's objects.
	Marked bool
	// AsLeft is true if neither the manifest nor the object has changed since it was last written.
	// SameManifest is true if the manifest has not changed.
	AsLeft, SameManifest bool
	// Ready and Failed are its state, Message the reason.
	Ready, Failed bool
	Message       string
	// Since is when it began to exist without being ready.
	Since time.Time
}

// Verb is the action on an object, or the reason for none.
type Verb string

const (
	// VerbCreate: create it.
	VerbCreate Verb = "create"
	// VerbWrite: apply its manifest.
	VerbWrite Verb = "write"
	// VerbAdopt: mark it as the tenant's, and change nothing else.
	VerbAdopt Verb = "adopt"
	// VerbLeave: it is up to date, ready or not.
	VerbLeave Verb = "leave"
	// VerbWait: it waits for something else.
	VerbWait Verb = "wait"
	// VerbSkip: a dependency has failed.
	VerbSkip Verb = "skip"
	// VerbConflict: it has another owner.
	VerbConflict Verb = "conflict"
	// VerbBroken: it has no manifest.
	VerbBroken Verb = "broken"
	// VerbRefused: writing it failed.
	VerbRefused Verb = "refused"
	// VerbFailed: it reports that it has failed.
	VerbFailed Verb = "failed"
	// VerbTimeout: it was not ready in time. It is still watched, and may become ready later.
	VerbTimeout Verb = "timeout"
)

// Writes reports whether the verb writes.
func (v Verb) Writes() bool { return v == VerbCreate || v == VerbWrite || v == VerbAdopt }

// Fails reports whether the object counts as failed; conflicts do, too.
func (v Verb) Fails() bool {
	return v == VerbConflict || v == VerbBroken || v == VerbRefused || v == VerbFailed || v == VerbTimeout
}

// ObjectDecision is the decision about one object.
type ObjectDecision struct {
	ID   string
	Verb Verb
	// Ready is true if it exists, is up to date and ready.
	Ready bool
	// For are the ids that it waits for, or that cause it to be skipped.
	For []string
	// Owner is its other owner, for a conflict.
	Owner string
	// Message says why; empty if the verb says it all.
	Message string
	// NextCheck is when its timeout ends.
	NextCheck time.Time
}

// Tenant decides about the objects of a tenant, and its status. All writes may happen at once.
// Afterwards there may be more.
func Tenant(f TenantFacts) TenantDecision {
	p := pass{f: f, objects: map[string]Object{}, decided: map[string]ObjectDecision{}, open: map[string]bool{}}
	for _, o := range f.Objects {
		p.objects[o.ID] = o
	}
	t := tally{TenantDecision: TenantDecision{Desired: len(f.Objects)}}
	for _, o := range f.Objects {
		t.add(o, p.decide(o))
	}
	t.conclude(f)
	return t.TenantDecision
}

// pass decides about each object once, after its dependencies.
type pass struct {
	f       TenantFacts
	objects map[string]Object
	decided map[string]ObjectDecision
	// open are the objects being decided on, to detect cycles.
	open map[string]bool
}

func (p *pass) decide(o Object) ObjectDecision {
	if d, ok := p.decided[o.ID]; ok {
		return d
	}
	p.open[o.ID] = true
	d := p.first(o)
	delete(p.open, o.ID)
	d.ID = o.ID
	p.decided[o.ID] = d
	return d
}

// first applies the rules in order.
func (p *pass) first(o Object) ObjectDecision {
	if o.Broken != "" {
		return ObjectDecision{Verb: VerbBroken, Message: o.Broken}
	}
	if o.Live.Exists && o.Live.Deleting {
		return ObjectDecision{Verb: VerbWait, Message: "the previous object is being deleted"}
	}
	if d, ok := conflict(o); ok {
		return d
	}
	verb := wanted(o)
	if verb == VerbLeave {
		return p.left(o)
	}
	if o.Refused != "" {
		return ObjectDecision{Verb: VerbRefused, Message: o.Refused}
	}
	// Restoring an object needs no dependencies.
	if verb == VerbAdopt || verb == VerbWrite && o.Live.SameManifest && o.Live.Ours {
		return ObjectDecision{Verb: verb}
	}
	if d, ok := p.needs(o); ok {
		return d
	}
	return ObjectDecision{Verb: verb}
}

// conflict: the other owner keeps the object, unless it is adopted by force. This happens only
// once: two owners must not adopt it from each other forever.
func conflict(o Object) (ObjectDecision, bool) {
	l := o.Live
	if !l.Exists || l.Ours || l.Owner == "" && !l.Lost || o.Force && !l.Lost {
		return ObjectDecision{}, false
	}
	owner := l.Owner
	if owner == "" {
		owner = "somebody else"
	}
	message := fmt.Sprintf("%s belongs to %s. Rename it, release it there, or take it over with conflictPolicy: Force", o.Name, owner)
	if l.Lost {
		message = fmt.Sprintf("%s has been taken over by %s, and Yuba does not take it back. Rename it, or delete it to have it created again", o.Name, owner)
	}
	return ObjectDecision{Verb: VerbConflict, Owner: owner, Message: message}, true
}

// wanted returns the verb without obstacles.
func wanted(o Object) Verb {
	l := o.Live
	switch {
	case !l.Exists:
		return VerbCreate
	case o.Once && (l.OnceDone || l.Ours):
		if l.Ours && l.OnceDone && l.Marked {
			return VerbLeave
		}
		return VerbAdopt
	case l.Ours && l.AsLeft:
		return VerbLeave
	}
	return VerbWrite
}

// left describes an object that is up to date.
func (p *pass) left(o Object) ObjectDecision {
	l := o.Live
	switch {
	case l.Ready || !o.Waits:
		return ObjectDecision{Verb: VerbLeave, Ready: true}
	case l.Failed:
		return ObjectDecision{Verb: VerbFailed, Message: l.Message}
	case o.Timeout <= 0 || l.Since.IsZero():
		return ObjectDecision{Verb: VerbLeave, Message: l.Message}
	}
	due := l.Since.Add(o.Timeout)
	if due.After(p.f.Now) {
		return ObjectDecision{Verb: VerbLeave, Message: l.Message, NextCheck: due}
	}
	message := fmt.Sprintf("%s is not ready after %s", o.Name, o.Timeout)
	if l.Message != "" {
		message += ": " + l.Message
	}
	return ObjectDecision{Verb: VerbTimeout, Message: message}
}

// needs returns the dependencies that an object waits for, or that cause it to be skipped.
func (p *pass) needs(o Object) (ObjectDecision, bool) {
	var failed, missing []string
	for _, n := range o.Needs {
		needed, there := p.objects[n.ID]
		if !there {
			return ObjectDecision{Verb: VerbBroken, Message: fmt.Sprintf("it depends on %q, which is not in the template", n.ID)}, true
		}
		if p.open[n.ID] {
			return ObjectDecision{Verb: VerbBroken, Message: fmt.Sprintf("it depends on %q, which in turn depends on it", n.ID)}, true
		}
		d := p.decide(needed)
		switch {
		case d.Verb.Fails() || d.Verb == VerbSkip:
			failed = append(failed, n.ID)
		case d.Verb != VerbLeave, n.Ready && !needed.Live.Ready:
			missing = append(missing, n.ID)
		}
	}
	switch {
	case len(failed) > 0 && o.Skips:
		return ObjectDecision{Verb: VerbSkip, For: failed, Message: "skipped because its dependencies have failed: " + List(failed)}, true
	case len(missing) > 0:
		return ObjectDecision{Verb: VerbWait, For: missing, Message: "waits for " + List(missing)}, true
	}
	return ObjectDecision{}, false
}
