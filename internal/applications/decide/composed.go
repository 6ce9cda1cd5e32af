// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
)

// Composed are the facts about an instance with several objects.
type Composed struct {
	// These are as in [Facts].
	Deleting, Kept, Abandon      bool
	Definition, Refused, Invalid string
	Approve, Abandoning, Moved   string
	// Parts are its objects, those that others need first.
	Parts []Part
}

// Part is an object of an instance: one that the definition makes, or that it made once.
type Part struct {
	// ID is that of its resource; Name names the object in messages.
	ID, Name string
	// Wanted: the definition makes it. Others are left over.
	Wanted bool
	// Needs are the ids of the parts that must be ready before it is written, and that go after it.
	Needs []string
	// Object is the object; nil for none.
	Object *Object
	// Gate says whether the definition's own conditions for readiness hold; nil if it has none.
	Gate *Gate
	// Invalid, Missing and Holder are as in [Facts].
	Invalid, Missing, Holder string
}

// Gate is the result of readyWhen.
type Gate struct {
	Open bool
	Why  string
}

// Action is what to do with a part.
type Action struct {
	Verb Verb
	// Part is its place in the facts.
	Part int
}

// State is the state of a part.
type State struct{ State, Message string }

// Composite is what happens to an instance with several objects.
type Composite struct {
	// Verb is Release, Keep, or Rest. Actions are about parts.
	Verb    Verb
	Actions []Action
	// States are those of the parts, in their order.
	States []State
	Standing
}

// waiting is the state of a part that waits for others.
const waiting = "Waiting"

// Ready reports whether others may use a part: it is as it should be, and its resources exist.
func (p *Part) Ready() bool {
	return p.Object != nil && p.Object.Current && !p.Object.Deleting && p.Blocked() == "" && p.standing("").Phase == "Ready"
}

// Blocked says why the part cannot be written; empty if it can.
func (p *Part) Blocked() string {
	for _, why := range []string{p.Holder, p.Invalid, p.Missing} {
		if why != "" {
			return why
		}
	}
	return ""
}

// standing is that of a part's object.
func (p *Part) standing(approve string) Standing {
	s := standingOf(p.Object, approve)
	switch {
	case p.Gate == nil || s.Phase == "AwaitingApproval" || s.Stalled || !p.Object.Observed:
		return s
	case p.Gate.Open:
		return Standing{Phase: "Ready", Ready: "True", Reason: "Ready"}
	}
	return progressing(p.Gate.Why)
}

// Compose decides about an instance with several objects.
func Compose(f Composed) Composite {
	c := &composing{Composed: f, Composite: Composite{Verb: Rest, States: make([]State, len(f.Parts))}, ready: map[string]bool{}}
	for i := range f.Parts {
		if p := &f.Parts[i]; p.Wanted && p.Ready() {
			c.ready[p.ID] = true
		}
	}
	for _, r := range composedRules {
		if r.when(&f) {
			r.then(c)
			break
		}
	}
	// Somebody has removed the finalizer: a deletion would not wait any more.
	if c.Verb == Rest && !f.Deleting && !f.Kept && len(c.living(func(*Part) bool { return true })) > 0 {
		c.Verb = Keep
	}
	return c.Composite
}

type composing struct {
	Composed
	Composite
	ready map[string]bool
}

var composedRules = []struct {
	when func(f *Composed) bool
	then func(c *composing)
}{
	// As with one object: see the rules of [Instance].
	{func(f *Composed) bool { return f.Deleting && !f.Kept }, standsAs(deleting("Other finalizers keep the object."))},
	{func(f *Composed) bool { return f.Deleting }, (*composing).leave},
	{func(f *Composed) bool { return f.Moved != "" }, func(c *composing) {
		c.look()
		c.Standing = Standing{Phase: "Pending", Ready: "False", Reason: "Moved", Message: c.Moved, Working: true}
	}},
	{func(f *Composed) bool { return f.Definition != "" }, func(c *composing) {
		c.look()
		c.Standing = Standing{Phase: "Pending", Ready: "False", Reason: "DefinitionNotReady", Message: c.Definition, Working: true}
	}},
	{func(f *Composed) bool { return f.Refused != "" }, func(c *composing) {
		c.look()
		c.Standing = stalled("NotAllowed", c.Refused)
	}},
	{func(f *Composed) bool { return f.Invalid != "" }, func(c *composing) {
		c.look()
		c.Standing = stalled("Failed", c.Composed.Invalid)
	}},
	{func(*Composed) bool { return true }, (*composing).keep},
}

func standsAs(s Standing) func(*composing) {
	return func(c *composing) {
		c.look()
		c.Standing = s
	}
}

// look sets the states of objects, and does nothing.
func (c *composing) look() {
	for i := range c.Parts {
		if p := &c.Parts[i]; p.Object != nil {
			c.see(i, p.standing(c.Approve))
		}
	}
}

func (c *composing) see(i int, s Standing) {
	c.States[i] = State{State: s.Phase, Message: s.Message}
	if s.Phase == "Ready" {
		c.States[i].Message = ""
	}
}

// leave deletes the objects: each after those that need it.
func (c *composing) leave() {
	living := c.living(func(*Part) bool { return true })
	if len(living) == 0 {
		c.Verb, c.Standing = Release, deleting("Its objects are gone.")
		return
	}
	c.remove(living)
	c.Standing = deleting("Its objects are being deleted: " + c.names(living))
	for _, i := range living {
		o := c.Parts[i].Object
		if s := leaving(&Facts{Object: o, Approve: c.Approve, Abandon: c.Abandon, Abandoning: c.Abandoning}); o.Deleting && (s.Stalled || o.Awaits != "" || strings.HasPrefix(s.Message, "The deletion is blocked")) {
			s.Message = c.Parts[i].Name + ": " + s.Message
			c.Standing = s
			return
		}
	}
}

// living are the parts that exist, of some.
func (c *composing) living(which func(*Part) bool) (living []int) {
	for i := range c.Parts {
		if p := &c.Parts[i]; p.Object != nil && which(p) {
			living = append(living, i)
		}
	}
	return living
}

// remove deletes the parts that no other one of them needs. If a later definition has turned needs
// around, all go at once.
func (c *composing) remove(parts []int) {
	free := slices.DeleteFunc(slices.Clone(parts), func(i int) bool {
		return slices.ContainsFunc(parts, func(j int) bool { return i != j && slices.Contains(c.Parts[j].Needs, c.Parts[i].ID) })
	})
	if len(free) == 0 {
		free = parts
	}
	for _, i := range parts {
		o := c.Parts[i].Object
		switch {
		case !slices.Contains(free, i):
			c.States[i] = State{"Deleting", "It goes after the objects that need it."}
			continue
		case c.Abandon && o.Destroys:
			c.Actions = append(c.Actions, Action{Spare, i})
		case !o.Deleting:
			c.Actions = append(c.Actions, Action{Delete, i})
		}
		c.States[i] = State{"Deleting", leaving(&Facts{Object: o, Approve: c.Approve, Abandon: c.Abandon, Abandoning: c.Abandoning}).Message}
	}
}

// keep writes what is wanted, and deletes what is left over once the rest is ready.
func (c *composing) keep() {
	all := true
	for i := range c.Parts {
		if !c.Parts[i].Wanted {
			c.States[i] = State{waiting, "The definition does not make it any more. It is deleted once the others are ready."}
			continue
		}
		c.part(i)
		all = all && c.States[i].State == "Ready"
	}
	leftover := c.living(func(p *Part) bool { return !p.Wanted })
	if all && len(leftover) > 0 {
		c.remove(leftover)
	}
	c.stand(all, leftover)
}

// part decides about a part that is wanted.
func (c *composing) part(i int) {
	p := &c.Parts[i]
	var missing []string
	for _, need := range p.Needs {
		if !c.ready[need] {
			missing = append(missing, need)
		}
	}
	switch o := p.Object; {
	case p.Holder != "":
		c.see(i, stalled("NameTaken", p.Holder))
	case o != nil && o.Deleting:
		c.see(i, progressing("Somebody deleted it. It is created again once it is gone."))
	case len(missing) > 0 && o == nil:
		c.States[i] = State{waiting, "It waits for " + strings.Join(missing, ", ") + "."}
	case len(missing) > 0:
		// It stays as it is, and its own state counts.
		c.see(i, p.standing(c.Approve))
		if c.States[i].State == "Ready" {
			c.States[i] = State{waiting, "It exists, and waits for " + strings.Join(missing, ", ") + "."}
		}
	case p.Invalid != "":
		c.see(i, stalled("Failed", p.Invalid))
	case p.Missing != "":
		c.States[i] = State{waiting, p.Missing}
	case o == nil:
		c.Actions = append(c.Actions, Action{Write, i})
		c.see(i, progressing("It is being created."))
	case !o.Current:
		c.Actions = append(c.Actions, Action{Write, i})
		c.see(i, progressing("It is being changed."))
	default:
		c.see(i, p.standing(c.Approve))
	}
}

// stand is the standing of the instance: that of the part which needs a person most.
func (c *composing) stand(all bool, leftover []int) {
	switch {
	case all && len(leftover) == 0:
		c.Standing = Standing{Phase: "Ready", Ready: "True", Reason: "Ready", Message: "The resources match the spec."}
		return
	case all:
		c.Standing = progressing("Objects that the definition does not make any more are being deleted: " + c.names(leftover))
		return
	}
	rank := map[string]int{"Failed": 3, "AwaitingApproval": 2, "Progressing": 1}
	best := -1
	for i := range c.Parts {
		if p := &c.Parts[i]; p.Wanted && c.States[i].State != "Ready" && (best < 0 || rank[c.States[i].State] > rank[c.States[best].State]) {
			best = i
		}
	}
	p, s := &c.Parts[best], c.States[best]
	message := fmt.Sprintf("%s (%s): %s", p.ID, p.Name, s.Message)
	switch {
	case s.State == "Failed" && p.Holder != "":
		c.Standing = stalled("NameTaken", message)
	case s.State == "Failed" && (p.Invalid != "" || p.Object != nil && p.Object.Stuck != ""):
		c.Standing = stalled("Failed", message)
	case s.State == "Failed":
		c.Standing = Standing{Phase: "Failed", Ready: "False", Reason: "Failed", Message: message, Working: true}
	case s.State == "AwaitingApproval":
		c.Standing = Standing{Phase: s.State, Ready: "Unknown", Reason: s.State, Message: message}
	case p.Missing != "":
		c.Standing = Standing{Phase: "Pending", Ready: "False", Reason: "BackendMissing", Message: message, Working: true}
	default:
		c.Standing = progressing(message)
	}
}

// names are the names of parts, for people.
func (c *composing) names(parts []int) string {
	var names []string
	for _, i := range parts {
		names = append(names, c.Parts[i].Name)
	}
	return strings.Join(names, ", ")
}
