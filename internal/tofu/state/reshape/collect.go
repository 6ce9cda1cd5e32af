// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"context"
	"errors"
	"time"
)

const (
	// proposalLife is how long a proposal that nobody applies is kept, recordLife a refactoring.
	proposalLife = 24 * time.Hour
	recordLife   = 365 * 24 * time.Hour
	// stateLife is how long the former states are kept for an undo.
	stateLife = 90 * 24 * time.Hour
	// maxProposals limits the proposals of a namespace that nobody has applied: each has the former and the
	// new states, of up to 100 MB. At the limit, those older than proposalRest make room.
	maxProposals = 50
	proposalRest = time.Hour
)

// makeRoom refuses a proposal more if a namespace has too many that nobody has applied. It first deletes
// those that nobody can be reading any more.
func (d *Desk) makeRoom(ctx context.Context, namespace string) error {
	records, err := d.store().list(ctx, namespace)
	if err != nil {
		return err
	}
	var open []*Record // newest first
	for _, r := range records {
		if r.Phase == Proposed {
			open = append(open, r)
		}
	}
	if len(open) < maxProposals {
		return nil
	}
	left := len(open)
	for _, listed := range open {
		if d.now().Sub(listed.Changed) <= proposalRest {
			continue
		}
		r, err := d.reserve(ctx, listed)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if r.Phase == Proposed {
			err = d.store().drop(ctx, r)
		}
		d.give(r)
		if err != nil {
			return err
		}
		left--
	}
	if left < maxProposals {
		return nil
	}
	free := open[len(open)-1].Changed.Add(proposalRest)
	return refused("the namespace %s has %d refactorings that were proposed and not applied, and may have %d. Apply one, or wait: the oldest makes room at %s. List them:\n    yuba refactor list -n %s",
		namespace, left, maxProposals, free.UTC().Format("15:04:05 MST"), namespace)
}

// Collect deletes what is too old: proposals, the states of former refactorings, and their records.
func (d *Desk) Collect(ctx context.Context) error {
	records, err := d.store().list(ctx, "")
	if err == nil {
		err = d.step("listed")
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, listed := range records {
		if listed.Phase.Open() || d.now().Sub(listed.Changed) <= proposalLife {
			continue
		}
		r, err := d.reserve(ctx, listed)
		if err != nil {
			errs = append(errs, err)
		}
		if r == nil {
			continue
		}
		age := d.now().Sub(r.Changed)
		switch {
		case r.Phase.Open():
		case r.Phase == Proposed && age > proposalLife, age > recordLife:
			errs = append(errs, d.store().drop(ctx, r))
		case age > stateLife:
			for _, m := range r.Members {
				errs = append(errs, d.store().remove(ctx, d.store().place(r.Namespace, r.ID, before+m.Stack)))
			}
		}
		d.give(r)
	}
	return errors.Join(errs...)
}
