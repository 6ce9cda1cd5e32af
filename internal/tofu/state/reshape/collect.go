// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	// proposalLife is how long a proposal that nobody applies is kept, recordLife a refactoring.
	proposalLife = 24 * time.Hour
	recordLife   = 365 * 24 * time.Hour
	// stateLife is how long the former states are kept for an undo.
	stateLife = 90 * 24 * time.Hour
	// maxProposals limits the proposals of a namespace that nobody has applied: each has the former and the
	// new states, of up to 100 MB. At the limit, those that nobody used for
	// proposalRest make room.
	maxProposals = 50
	proposalRest = time.Hour
)

// makeRoom refuses a proposal more if a namespace has too many that nobody has applied. It first deletes
// those that nobody used for long, the oldest first, until there is room.
func (d *Desk) makeRoom(ctx context.Context, namespace string) error {
	records, _, err := d.List(ctx, namespace)
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(r *Record) bool { return r.Phase != Proposed })
	left := len(records)
	var free time.Time // when the next one may be deleted
	var failed error
	for _, listed := range slices.Backward(records) {
		if left < maxProposals {
			return nil
		}
		gone, used, err := d.dropUnused(ctx, listed)
		if err != nil { // others may still make room
			failed = errors.Join(failed, err)
			continue
		}
		if gone {
			left--
		} else if rested := used.Add(proposalRest); free.IsZero() || rested.Before(free) {
			free = rested
		}
	}
	if left < maxProposals {
		return nil
	}
	if free.IsZero() { // none could be read
		return failed
	}
	return refused("the namespace %s has %d refactorings that were proposed and not applied, and may have %d. Apply one, or wait: the oldest makes room at %s. List them:\n    yuba refactor list -n %s",
		namespace, left, maxProposals, free.UTC().Format("15:04:05 MST"), namespace)
}

// dropUnused deletes a proposal that was not used for long. Otherwise it returns when it was last used: a
// proposal whose plans are noted one after the other is in use.
func (d *Desk) dropUnused(ctx context.Context, listed *Record) (gone bool, used time.Time, err error) {
	used = listed.Changed
	if d.now().Sub(used) <= proposalRest {
		return false, used, nil
	}
	r, err := d.reserve(ctx, listed)
	if err != nil || r == nil {
		return false, used, err
	}
	defer d.give(r)
	if r.Phase != Proposed {
		return true, used, nil
	}
	if used, err = d.lastUse(ctx, r); err != nil || d.now().Sub(used) <= proposalRest {
		return false, used, err
	}
	return true, used, d.store().drop(ctx, r)
}

// lastUse is when a proposal was made, or last previewed. A damaged preview does not tell, and must not keep a
// namespace from making room.
func (d *Desk) lastUse(ctx context.Context, r *Record) (used time.Time, err error) {
	used = r.Changed
	for _, name := range r.Stacks() {
		p, err := d.preview(ctx, r, name)
		if err != nil && !hopeless(err) {
			return used, err
		}
		if err == nil && p.At.After(used) {
			used = p.At
		}
	}
	return used, nil
}

// Collect deletes what is too old: proposals, the states of former refactorings, their records, and the blobs
// that have none.
func (d *Desk) Collect(ctx context.Context) error {
	all, err := d.store().list(ctx, "")
	if err == nil {
		err = d.step("listed")
	}
	if err != nil {
		return err
	}
	errs := slices.Concat(all.lost, all.unread)
	for _, listed := range all.records {
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
	keys, err := d.store().orphans(ctx, d.now().Add(-proposalLife))
	errs = append(errs, err)
	for _, key := range keys {
		errs = append(errs, d.store().remove(ctx, key))
	}
	return errors.Join(errs...)
}
