// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"errors"
	"fmt"
)

// ErrNone and ErrHeld say that what is to be removed is not there, or that somebody is using it.
var (
	ErrNone = errors.New("the store of providers has none of that version")
	ErrHeld = errors.New("a run is using it. Try again when that has ended")
)

// Remove removes one version of a provider, of one scope or, when that is empty, of all. What somebody holds stays, and so
// does a directory that is busy; whoever else has linked to what is gone has it fetched again. What was removed is returned,
// also beside an error.
func (s *Store) Remove(a Address, version, scope string, busy func(dir string) bool) ([]Stored, error) {
	all, err := s.list()
	if err != nil {
		return nil, fmt.Errorf("read what the store of providers has: %w", err)
	}
	var removed []Stored
	var problems []error
	found := false
	for _, e := range all {
		if e.Address != a || e.Version != version || scope != "" && e.scope.Name != scope {
			continue
		}
		found = true
		gone := false
		if !busy(e.Dir) {
			gone, err = s.removePackage(e)
		}
		switch {
		case err != nil:
			problems = append(problems, err)
		case !gone:
			problems = append(problems, fmt.Errorf("scope %s: %w", e.scope.Name, ErrHeld))
		default:
			removed = append(removed, Stored{*e.Package, e.scope.Name})
		}
	}
	if !found {
		return nil, ErrNone
	}
	return removed, errors.Join(problems...)
}
