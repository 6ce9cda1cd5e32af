// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// TenantFacts are all that is known of a tenant and its objects.
type TenantFacts struct {
	Now time.Time
	// Objects are what the tenant should have, in an order in which what is needed comes first.
	Objects []Object
	// RegistryGone is the name of the registry when it is not there any more; empty when it is.
	RegistryGone string
}

// Object is an object that a tenant should have.
type Object struct {
	// ID is what the template calls it, Name its kind and name.
	ID, Name string
	// Needs is what must be there before it is made or changed.
	Needs []Need
	// Once: it is made, and left alone after that.
	Once bool
	// Force: it is taken over from whoever has it.
	Force bool
	// Skips: it is left out when what it needs has failed. Otherwise it is made all the same.
	Skips bool
	// Waits: it counts as ready when it is. Otherwise as soon as it is there.
	Waits bool
	// Timeout is how long it may take to be ready; without limit when it is 0.
	Timeout time.Duration
	// Broken says why there is no manifest of it; empty when there is one.
	Broken string
	// Refused is the answer to the last attempt to write it, while it is too early for another one; empty for none.
	Refused string
	Live    Live
}

// Need is another object of the template.
type Need struct {
	ID string
	// Ready is true when it must be ready, and not only there.
	Ready bool
}

// Live is what is known of the object itself.
type Live struct {
	Exists bool
	// Deleting is true when it is on its way out.
	Deleting bool
	// Ours is true when it belongs to the tenant. Owner is who else has it, or fields of it that the manifest wants; empty for
	// nobody.
	Ours  bool
	Owner string
	// Lost is true when it was the tenant's, and somebody has taken it since.
	Lost bool
	// OnceDone is true when it says of itself that it was made once, and is to be left alone.
	OnceDone bool
	// Marked is true when it has the labels, annotations and the owner that an object of the tenant has.
	Marked bool
	// AsLeft is true when neither the manifest nor the object has changed since it was last written. SameManifest is true when the
	// manifest has not.
	AsLeft, SameManifest bool
	// Ready and Failed say how it is, Message why.
	Ready, Failed bool
	Message       string
	// Since is since when it is there and not ready.
	Since time.Time
}

// Verb is what to do about an object, or why nothing.
type Verb string

const (
	// VerbCreate: make it.
	VerbCreate Verb = "create"
	// VerbWrite: bring it to its manifest, in the way that the manifest says.
	VerbWrite Verb = "write"
	// VerbAdopt: mark it as the tenant's, and touch nothing else.
	VerbAdopt Verb = "adopt"
	// VerbLeave: it is as it should be; ready or not yet.
	VerbLeave Verb = "leave"
	// VerbWait: something else must happen first.
	VerbWait Verb = "wait"
	// VerbSkip: what it needs has failed.
	VerbSkip Verb = "skip"
	// VerbConflict: somebody else has it.
	VerbConflict Verb = "conflict"
	// VerbBroken: there is no manifest of it.
	VerbBroken Verb = "broken"
	// VerbRefused: it could not be written.
	VerbRefused Verb = "refused"
	// VerbFailed: it says of itself that it has failed.
	VerbFailed Verb = "failed"
	// VerbTimeout: it was not ready in time. It is watched: when it is ready later, it is.
	VerbTimeout Verb = "timeout"
)

// Writes tells whether something is written.
func (v Verb) Writes() bool { return v == VerbCreate || v == VerbWrite || v == VerbAdopt }

// Fails tells whether the object counts as failed, those of somebody else among them.
func (v Verb) Fails() bool {
	return v == VerbConflict || v == VerbBroken || v == VerbRefused || v == VerbFailed || v == VerbTimeout
}

// ObjectDecision is what to do about one object.
type ObjectDecision struct {
	ID   string
	Verb Verb
	// Ready is true when it is there, as it should be, and ready.
	Ready bool
	// For are the ids that it waits for, or is skipped because of.
	For []string
	// Owner is who has it, when that is in the way.
	Owner string
	// Message says why, for people; empty where the verb says all.
	Message string
	// NextCheck is when its time is over.
	NextCheck time.Time
}

// Tenant says what to do about the objects of a tenant, and how the tenant stands. Everything that is to be written may be written
// at once. When that is done, there may be more.
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

// pass decides on each object once, after what it needs.
type pass struct {
	f       TenantFacts
	objects map[string]Object
	decided map[string]ObjectDecision
	// open are those that are being decided on: whoever meets one of them goes in a circle.
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

// first asks the rules in their order.
func (p *pass) first(o Object) ObjectDecision {
	if o.Broken != "" {
		return ObjectDecision{Verb: VerbBroken, Message: o.Broken}
	}
	if o.Live.Exists && o.Live.Deleting {
		return ObjectDecision{Verb: VerbWait, Message: "the object that was there is being deleted"}
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
	// What only has to be as it was again asks nobody.
	if verb == VerbAdopt || verb == VerbWrite && o.Live.SameManifest && o.Live.Ours {
		return ObjectDecision{Verb: verb}
	}
	if d, ok := p.needs(o); ok {
		return d
	}
	return ObjectDecision{Verb: verb}
}

// conflict: whoever has it keeps it, unless it is taken over. That happens once: who has lost it does not take it back, or two
// would go on for ever.
func conflict(o Object) (ObjectDecision, bool) {
	l := o.Live
	if !l.Exists || l.Ours || l.Owner == "" && !l.Lost || o.Force && !l.Lost {
		return ObjectDecision{}, false
	}
	owner := l.Owner
	if owner == "" {
		owner = "somebody else"
	}
	message := fmt.Sprintf("%s belongs to %s. Give it another name, let it go there, or take it over with conflictPolicy: Force", o.Name, owner)
	if l.Lost {
		message = fmt.Sprintf("%s has been taken over by %s, and is not taken back. Give it another name, or delete it: then it is made again", o.Name, owner)
	}
	return ObjectDecision{Verb: VerbConflict, Owner: owner, Message: message}, true
}

// wanted is what would be done if nothing were in the way.
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

// left says how an object is that is as it should be.
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

// needs says what an object has to wait for, or is left out because of.
func (p *pass) needs(o Object) (ObjectDecision, bool) {
	var failed, missing []string
	for _, n := range o.Needs {
		needed, there := p.objects[n.ID]
		if !there {
			return ObjectDecision{Verb: VerbBroken, Message: fmt.Sprintf("it depends on %q, which the template does not have", n.ID)}, true
		}
		if p.open[n.ID] {
			return ObjectDecision{Verb: VerbBroken, Message: fmt.Sprintf("it depends on %q, which depends on it in turn", n.ID)}, true
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
		return ObjectDecision{Verb: VerbSkip, For: failed, Message: "left out because what it depends on has failed: " + list(failed)}, true
	case len(missing) > 0:
		return ObjectDecision{Verb: VerbWait, For: missing, Message: "waits for " + list(missing)}, true
	}
	return ObjectDecision{}, false
}
