// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"errors"
	"fmt"
)

// ErrNone means that the version is not in the store, ErrHeld that a run is using it.
var (
	ErrNone = errors.New("the store of providers does not have that version")
	ErrHeld = errors.New("a run is using it. Try again when the run has ended")
)

// Remove removes one version of a provider from one scope or, if it is empty, from all. It keeps
// held packages and busy directories; other stacks that have linked to a removed package fetch it
// again. It returns the removed packages, also with an error.
func (s *Store) Remove(a Address, version, scope string, busy func(dir string) bool) ([]Stored, error) {
	all, err := s.list()
	if err != nil {
		return nil, fmt.Errorf("list the store of providers: %w", err)
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
