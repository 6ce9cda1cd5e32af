// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moves

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/nearest"
)

// Verb is what a step does.
type Verb string

// The verbs.
const (
	// Move moves what is at From in State to To in ToState.
	Move Verb = "move"
	// Remove takes what is at From out of State. The objects stay in the world.
	Remove Verb = "remove"
	// ReplaceProvider makes the resources of the provider From those of the provider To, by source.
	ReplaceProvider Verb = "replace-provider"
)

// Step is one change.
type Step struct {
	Verb Verb `json:"verb"`
	// State and ToState are names of states; an empty ToState is State.
	State   string `json:"state"`
	ToState string `json:"toState,omitempty"`
	From    string `json:"from"`
	To      string `json:"to,omitempty"`
	// Place is where the step is written, for messages: "refactor.hcl:3".
	Place string `json:"place,omitempty"`
}

// Moved is what became of an instance.
type Moved struct {
	State   string `json:"state"`
	Address string `json:"address"`
	// ToState and To are empty for one that was removed.
	ToState string `json:"toState,omitempty"`
	To      string `json:"to,omitempty"`
}

// Result is what the states become.
type Result struct {
	// States are the documents that changed, by name.
	States map[string][]byte
	// Moved are the instances that moved or were removed, in the order of the steps.
	Moved []Moved
}

// site is a resource of a state, without keys, as dependencies name it.
type site struct{ state, resource string }

// mover takes steps.
type mover struct {
	states map[string]*document
	result Result
}

// Apply takes steps in their order. A name without a document is an error: the caller makes new ones of
// New.
func Apply(states map[string][]byte, steps []Step) (*Result, error) {
	m := &mover{states: map[string]*document{}, result: Result{States: map[string][]byte{}}}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		d, err := parse(name, states[name])
		if err != nil {
			return nil, fmt.Errorf("read the state of %s: %w", name, err)
		}
		m.states[name] = d
	}
	for _, s := range steps {
		if err := m.take(s); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(s.Place+": "+s.describe(), ": "), err)
		}
	}
	now := m.settle()
	for name, d := range m.states {
		if !d.changed {
			continue
		}
		d.depend(name, now)
		var err error
		if m.result.States[name], err = d.write(); err != nil {
			return nil, fmt.Errorf("write the state of %s: %w", name, err)
		}
	}
	return &m.result, nil
}

func (s Step) describe() string {
	to := s.To
	if s.ToState != "" && s.ToState != s.State {
		to += " of " + s.ToState
	}
	switch s.Verb {
	case Remove:
		return fmt.Sprintf("remove %s from %s", s.From, s.State)
	case ReplaceProvider:
		return fmt.Sprintf("replace the provider %s of %s by %s", s.From, s.State, s.To)
	case Move:
	}
	return fmt.Sprintf("move %s of %s to %s", s.From, s.State, to)
}

func (m *mover) take(s Step) error {
	if s.ToState == "" {
		s.ToState = s.State
	}
	from, to := m.states[s.State], m.states[s.ToState]
	if from == nil || to == nil {
		return errors.New("a state is not known")
	}
	if s.Verb == ReplaceProvider {
		return from.replaceProvider(s.From, s.To)
	}
	source, err := ParseAddress(s.From)
	if err != nil {
		return err
	}
	picks := from.pick(source)
	if len(picks) == 0 {
		return m.nothing(s.State, from, source)
	}
	if s.Verb == Remove {
		for _, p := range picks {
			m.note(s, p, Address{}, "")
			p.cut()
		}
		from.drop(picks)
		from.changed = true
		return nil
	}
	target, err := ParseAddress(s.To)
	if err != nil {
		return err
	}
	if err := fits(source, target); err != nil {
		return err
	}
	return m.move(s, from, to, picks, source, target)
}

// fits says why one address cannot become another.
func fits(from, to Address) error {
	switch {
	case from.IsModule() != to.IsModule():
		return errors.New("a module can only become a module, and a resource a resource")
	case !from.IsModule() && (from.mode != to.mode || from.kind != to.kind):
		return fmt.Errorf("a resource keeps its type: %s is not %s", to.kind, from.kind)
	}
	return nil
}

// pick are the instances at an address, of one entry.
type pick struct {
	of        *resource
	instances []*instance
	// rest is the key of the module that the address left out.
	rest key
}

// cut takes the instances out of their entry.
func (p pick) cut() {
	p.of.instances = slices.DeleteFunc(p.of.instances, func(i *instance) bool { return slices.Contains(p.instances, i) })
}

// pick finds what is at an address.
func (d *document) pick(a Address) (picks []pick) {
	if a.IsModule() {
		for _, r := range d.resources {
			if rest, ok := covers(a.calls, r.calls); ok && len(r.instances) > 0 {
				picks = append(picks, pick{r, slices.Clone(r.instances), rest})
			}
		}
		return picks
	}
	whole := a
	whole.key = ""
	r := d.find(whole)
	if r == nil {
		return nil
	}
	p := pick{of: r}
	for _, i := range r.instances {
		if a.key == "" || i.key == a.key {
			p.instances = append(p.instances, i)
		}
	}
	if len(p.instances) > 0 {
		picks = append(picks, p)
	}
	return picks
}

// nothing says that nothing is at an address, where it went, or what is near.
func (m *mover) nothing(state string, d *document, a Address) error {
	for _, moved := range slices.Backward(m.result.Moved) {
		if moved.State != state || moved.Address != a.String() {
			continue
		}
		if moved.To == "" {
			return errors.New("an earlier step removed it")
		}
		return fmt.Errorf("an earlier step moved it to %s of %s", moved.To, moved.ToState)
	}
	var known []string
	for _, r := range d.resources {
		if len(r.instances) == 0 {
			continue
		}
		known = append(known, r.address().String())
		if len(r.calls) > 0 {
			known = append(known, path(r.calls))
		}
	}
	slices.Sort(known)
	if best := nearest.Word(a.String(), slices.Compact(known), 5); best != "" {
		return fmt.Errorf("nothing is at %s; did you mean %s?", a, best)
	}
	return fmt.Errorf("nothing is at %s", a)
}

// move puts picked instances elsewhere.
func (m *mover) move(s Step, from, to *document, picks []pick, source, target Address) error {
	for _, p := range picks {
		p.cut()
	}
	for _, p := range picks {
		if target.key != "" && source.key == "" && different(p.instances) {
			return fmt.Errorf("%s has several instances: name one of them, or give %s no key", source, target)
		}
		at := landing(p, source, target)
		entry := to.find(at)
		if entry == nil {
			entry = p.of.at(at)
			to.add(entry)
		}
		before := slices.Clone(entry.instances)
		for _, i := range p.instances {
			moved := at
			if moved.key = i.key; source.key != "" || target.key != "" {
				moved.key = target.key
			}
			if slices.ContainsFunc(before, func(other *instance) bool { return other.key == moved.key }) {
				return fmt.Errorf("%s of %s exists already", moved, s.ToState)
			}
			m.note(s, pick{p.of, []*instance{i}, p.rest}, moved, s.ToState)
			i.become(moved.key, p.of.calls, at.calls)
			entry.instances = append(entry.instances, i)
		}
	}
	from.drop(picks)
	from.changed, to.changed = true, true
	return nil
}

// different reports whether instances have different keys.
func different(list []*instance) bool {
	return slices.ContainsFunc(list, func(i *instance) bool { return i.key != list[0].key })
}

// landing is the resource that picked instances get.
func landing(p pick, source, target Address) Address {
	if !source.IsModule() {
		target.key = ""
		return target
	}
	calls := slices.Concat(target.calls, p.of.calls[len(source.calls):])
	last := len(target.calls) - 1
	if source.calls[len(source.calls)-1].key == "" && target.calls[last].key == "" {
		calls[last].key = p.rest
	}
	return Address{calls, p.of.mode, p.of.kind, p.of.name, ""}
}

// at is an empty entry like this one at another address.
func (r *resource) at(a Address) *resource {
	next := &resource{raw: maps.Clone(r.raw), calls: a.calls, mode: a.mode, kind: a.kind, name: a.name}
	next.raw["name"] = text(a.name)
	delete(next.raw, "module")
	if len(a.calls) > 0 {
		next.raw["module"] = text(path(a.calls))
	}
	reprovide(next.raw, r.calls, a.calls)
	return next
}

// become gives an instance another key, in another module.
func (i *instance) become(k key, from, to []call) {
	i.key = k
	delete(i.raw, "index_key")
	if k != "" {
		i.raw["index_key"] = json.RawMessage(k)
	}
	reprovide(i.raw, from, to)
}

// reprovide follows a module that configures a provider itself.
func reprovide(raw map[string]json.RawMessage, from, to []call) {
	var provider string
	if json.Unmarshal(raw["provider"], &provider) != nil {
		return
	}
	if rest, ok := strings.CutPrefix(provider, configured(from)+".provider["); ok && len(from) > 0 {
		raw["provider"] = text(within(configured(to), "provider["+rest))
	}
}

// note records what became of instances.
func (m *mover) note(s Step, p pick, to Address, state string) {
	for _, i := range p.instances {
		old := p.of.address()
		old.key = i.key
		moved := Moved{State: s.State, Address: old.String()}
		if state != "" {
			moved.ToState, moved.To = state, to.String()
		}
		m.result.Moved = append(m.result.Moved, moved)
	}
}

// replaceProvider replaces a provider's source in all resources.
func (d *document) replaceProvider(from, to string) error {
	found := false
	replace := func(raw map[string]json.RawMessage) {
		var provider string
		if json.Unmarshal(raw["provider"], &provider) != nil {
			return
		}
		if next := strings.Replace(provider, `provider["`+from+`"]`, `provider["`+to+`"]`, 1); next != provider {
			raw["provider"], found = text(next), true
		}
	}
	for _, r := range d.resources {
		replace(r.raw)
		for _, i := range r.instances {
			replace(i.raw)
		}
	}
	if !found {
		return errors.New("no resource has this provider: write its source with its host, such as registry.opentofu.org/hashicorp/aws")
	}
	d.changed = true
	return nil
}
