// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package unproven

import (
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// State is what counts of a state.
type State struct{ objects map[string]Object }

// Object is the present object of a resource instance.
type Object struct {
	Address string
	// ID is what the provider calls it, Identity what else names it.
	ID, Identity string
}

// other says that this is certainly another object than the one before. Attributes prove nothing,
// because a refresh changes them. Equal ids prove nothing either, because a new object may take the
// same name.
func (o Object) other(before Object) bool { return o.ID != "" && before.ID != "" && o.ID != before.ID }

// NewState makes a State of its objects.
func NewState(objects []Object) *State {
	s := &State{objects: make(map[string]Object, len(objects))}
	for _, o := range objects {
		s.objects[plan.Match(o.Address)] = o
	}
	return s
}

// Parse reads a state that is not encrypted; no bytes are an empty state. Deposed objects do not
// count.
func Parse(data []byte) (*State, error) {
	if data == nil {
		return NewState(nil), nil
	}
	file, err := state.Parse(data)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, r := range file.Resources {
		if r.Mode == "managed" && r.Deposed == "" {
			objects = append(objects, Object{Address: r.Address, ID: r.Identifier(), Identity: plan.IdentityOf(r.Attributes, r.SensitivePaths)})
		}
	}
	return NewState(objects), nil
}

// Listed makes a State of digests of addresses, when no more is known of it.
func Listed(matches []string) *State {
	s := &State{objects: make(map[string]Object, len(matches))}
	for _, match := range matches {
		s.objects[match] = Object{}
	}
	return s
}

// Has says whether the state has an object with that digest of its address.
func (s *State) Has(match string) bool {
	_, ok := s.get(match)
	return ok
}

// Proves says whether the state has the object that was created at that address. The object of
// before proves nothing: after a replacement the state must have one with another id than
// replacedID.
func (s *State) Proves(match string, replaces bool, replacedID string) bool {
	now, there := s.get(match)
	return there && (!replaces || now.other(Object{ID: replacedID}))
}

func (s *State) get(match string) (Object, bool) {
	if s == nil {
		return Object{}, false
	}
	o, ok := s.objects[match]
	return o, ok
}
