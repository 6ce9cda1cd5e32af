// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package unproven

import (
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// State is the part of a state that serves as evidence.
type State struct{ objects map[string]Object }

// Object is the current object of a resource instance.
type Object struct {
	Address string
	// ID is the provider's id, Identity another name.
	ID, Identity string
}

// other reports whether this is certainly a different object. Attributes prove nothing, because a
// refresh changes them; nor do equal ids, because a new object may reuse a name.
func (o Object) other(before Object) bool { return o.ID != "" && before.ID != "" && o.ID != before.ID }

// NewState makes a State from objects.
func NewState(objects []Object) *State {
	s := &State{objects: make(map[string]Object, len(objects))}
	for _, o := range objects {
		s.objects[plan.Match(o.Address)] = o
	}
	return s
}

// Parse reads a state that is not encrypted; nil is an empty state. Deposed objects do not count.
func Parse(data []byte) (*State, error) {
	if data == nil {
		return NewState(nil), nil
	}
	file, err := statefile.Parse(data)
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

// Listed makes a State from digests of addresses alone.
func Listed(matches []string) *State {
	s := &State{objects: make(map[string]Object, len(matches))}
	for _, match := range matches {
		s.objects[match] = Object{}
	}
	return s
}

// Has reports whether the state has an object with that digest of its address.
func (s *State) Has(match string) bool {
	_, ok := s.get(match)
	return ok
}

// Proves reports whether the state has the object that was created at that address. After a
// replacement it must have another id than replacedID.
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
