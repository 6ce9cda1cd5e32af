// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// step is where a test can end a refactoring, as a killed server does.
func (d *Desk) step(name string) error {
	if d.broken == nil {
		return nil
	}
	return d.broken(name)
}

func (d *Desk) enter(ctx context.Context, r *Record, phase Phase, message string) error {
	if err := d.mayWrite(ctx); err != nil {
		return fmt.Errorf("store that the refactoring %s is %s: %w", r.ID, phase, err)
	}
	r.Phase, r.Changed, r.Message = phase, d.now(), message
	if err := d.store().save(ctx, r); err != nil {
		d.left.Store(true) // the stored phase may be an open one
		return err
	}
	return d.step("after " + string(phase))
}

// Approval says who applies a proposal; Unpreviewed: whatever its previews say.
type Approval struct {
	By          string
	Unpreviewed bool
	// Judge refuses a proposal. It is asked while no other request can apply it; nil accepts all.
	Judge func(context.Context, *Record) error
}

// Apply writes the states of a proposal. A *RefusedError or a *state.LockedError means that nothing was
// changed. After another error the refactoring may be open; then the server carries it on.
func (d *Desk) Apply(ctx context.Context, namespace, id string, a Approval) (*Record, error) {
	r, err := d.store().load(ctx, namespace, id)
	if err != nil {
		return nil, err
	}
	if !d.take(r) {
		return nil, refused("apply the refactoring %s: it is being applied already. See how far it is:\n    yuba refactor show %s -n %s", id, id, namespace)
	}
	defer d.give(r)
	if r, err = d.store().loadWhole(ctx, namespace, id); err != nil {
		return nil, err
	}
	switch r.Phase {
	case Proposed:
		if a.Judge == nil {
			break
		}
		if err := a.Judge(ctx, r); err != nil {
			return r, err
		}
	case Applied, Written:
		return r, nil // the answer to an earlier request was lost
	default:
		return r, refused("apply the refactoring %s: it is %s. %s", id, r.Phase, r.Message)
	}
	// Whatever ends this request, the locks must not stay.
	defer func() {
		if r.Phase.Open() {
			d.left.Store(true)
		}
	}()
	ctx, end := d.untilLost(ctx)
	defer end()
	r.AppliedBy, r.Unpreviewed = a.By, a.Unpreviewed
	if err := d.enter(ctx, r, Locking, ""); err != nil {
		return r, err
	}
	if err := d.lock(ctx, r); err != nil {
		return r, errors.Join(err, d.retreat(ctx, r, ""))
	}
	if err := d.check(ctx, r); err != nil {
		return r, errors.Join(err, d.retreat(ctx, r, ""))
	}
	if err := d.enter(ctx, r, Writing, ""); err != nil {
		return r, err
	}
	return r, d.carryOn(ctx, r)
}

// lock locks all members, in the order of their names.
func (d *Desk) lock(ctx context.Context, r *Record) error {
	for i := range r.Members {
		m := &r.Members[i]
		key := r.key(m)
		if err := d.mayWrite(ctx); err != nil {
			return fmt.Errorf("lock the state of %s: %w", key, err)
		}
		info := state.LockInfo{ID: r.ID, Operation: state.OperationRefactor, Info: r.Reason(), Who: cmp.Or(r.AppliedBy, r.By, "a user of yuba refactor"), Version: d.Version, Created: d.now(), Path: key.SecretName()}
		if err := d.States.Lock(ctx, key, info); err != nil {
			return err
		}
		if err := d.step("locked " + m.Stack); err != nil {
			return err
		}
	}
	return nil
}

// unlock releases the locks that the refactoring holds.
func (d *Desk) unlock(ctx context.Context, r *Record) error {
	var errs []error
	for i := range r.Members {
		err := d.States.Unlock(ctx, r.key(&r.Members[i]), r.ID)
		var other *state.LockedError
		if err != nil && !errors.As(err, &other) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// check refuses a proposal whose states have changed, or that the API will not store.
func (d *Desk) check(ctx context.Context, r *Record) error {
	for i := range r.Members {
		m := &r.Members[i]
		key := r.key(m)
		now, err := d.States.Read(ctx, key)
		if err != nil {
			return err
		}
		if now.Data != nil && now.Digest != m.Before.Digest || now.Data == nil && m.Before.Digest != "" {
			return refused("apply the refactoring %s: the state of %s has changed since the preview; its serial is now %d, and was %d. Nothing was changed. Preview it again", r.ID, key, now.Serial, m.Before.Serial)
		}
		if err := d.States.Room(ctx, key, now, m.Labels); err != nil {
			return err
		}
	}
	return nil
}

// retreat makes a refactoring that has written nothing a proposal again.
func (d *Desk) retreat(ctx context.Context, r *Record, why string) error {
	if d.broken != nil && d.broken("retreat") != nil {
		return nil
	}
	if err := d.unlock(ctx, r); err != nil {
		return err
	}
	r.AppliedBy, r.Unpreviewed = "", false
	return d.enter(ctx, r, Proposed, why)
}

// carryOn goes on with a refactoring from its phase to its end.
func (d *Desk) carryOn(ctx context.Context, r *Record) error {
	if r.Phase == Writing {
		err := d.write(ctx, r)
		switch {
		case hopeless(err):
			if err := d.enter(ctx, r, Reverting, "one could not be written: "+err.Error()); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("apply the refactoring %s: %w.\nThe server goes on with it as soon as it can. See how far it is:\n    yuba refactor show %s -n %s", r.ID, err, r.ID, r.Namespace)
		default:
			if err := d.enter(ctx, r, Written, ""); err != nil {
				return err
			}
		}
	}
	if r.Phase == Reverting {
		return d.revert(ctx, r)
	}
	if err := d.note(ctx, r); err != nil {
		return err
	}
	if err := d.unlock(ctx, r); err != nil {
		return err
	}
	if err := d.enter(ctx, r, Applied, ""); err != nil {
		return err
	}
	for _, m := range r.Members { // each is a version of its state now
		if err := d.store().remove(ctx, d.store().place(r.Namespace, r.ID, after+m.Stack)); err != nil {
			d.Log.Warn("cannot delete a proposed state", "refactoring", r.ID, "stack", m.Stack, "error", err)
		}
	}
	d.tell(r)
	return nil
}

// note tells an undone refactoring who has undone it.
func (d *Desk) note(ctx context.Context, r *Record) error {
	if r.Undoes == "" {
		return nil
	}
	done, err := d.store().load(ctx, r.Namespace, r.Undoes)
	if errors.Is(err, ErrNotFound) || hopeless(err) {
		return nil
	}
	if err != nil {
		return err
	}
	done.UndoneBy = r.ID
	return d.store().save(ctx, done)
}

func (d *Desk) tell(r *Record) {
	if d.Changed != nil {
		d.Changed(*r)
	}
}

const (
	// tries and pause limit how long a person waits while the API is away.
	tries = 4
	pause = 250 * time.Millisecond
)

// write writes all members. It may be repeated.
func (d *Desk) write(ctx context.Context, r *Record) error {
	for i := range r.Members {
		m := &r.Members[i]
		data, err := d.store().readState(ctx, r, after, m.Stack, m.After.Digest)
		if err != nil {
			return err
		}
		version, err := d.put(ctx, r.key(m), state.WriteRequest{Data: data, Previous: m.Before, Labels: m.Labels, RunID: r.ID, Reason: r.Reason()})
		if err != nil {
			return err
		}
		m.Version = version.ID
		if err := d.step("wrote " + m.Stack); err != nil {
			return err
		}
	}
	return nil
}

// put writes a state, and tries again while the API is away.
func (d *Desk) put(ctx context.Context, key state.Key, w state.WriteRequest) (version state.Version, err error) {
	for n := range tries {
		if lost := d.mayWrite(ctx); lost != nil {
			return version, fmt.Errorf("write the state of %s: %w", key, lost)
		}
		version, err = d.States.Write(ctx, key, w)
		if err == nil || hopeless(err) {
			return version, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause << n):
		}
	}
	return version, err
}

// hopeless reports whether writing again would not help.
func hopeless(err error) bool {
	var moved *state.ConflictError
	var broken *blob.SealError
	return errors.As(err, &moved) || errors.As(err, &broken) || errors.Is(err, blob.ErrNotFound) || errors.Is(err, errDamaged) || state.Lasting(err) || state.Denied(err)
}

// Repair goes on with the refactorings that an earlier server left open, once. It returns how many are
// still open. It logs damaged records, which no repair mends, and which must not delay the repair of others. A record
// that cannot be read may be open, so it is an error, after the repair of the others.
func (d *Desk) Repair(ctx context.Context) (open int, err error) {
	all, err := d.store().list(ctx, "")
	d.tellSkipped(all)
	if err == nil {
		err = d.step("listed")
	}
	if err != nil {
		return 0, err
	}
	errs := all.unread
	for _, listed := range all.records {
		if !listed.Phase.Open() {
			continue
		}
		r, err := d.reserve(ctx, listed)
		if err != nil {
			errs = append(errs, err)
		}
		if r == nil {
			open++ // a request has it, which may leave it
			continue
		}
		if !r.Phase.Open() {
			d.give(r)
			continue
		}
		if err := d.repair(ctx, r); err != nil {
			errs = append(errs, err)
		}
		if r.Phase.Open() {
			open++
		}
		d.give(r)
	}
	return open, errors.Join(errs...)
}

func (d *Desk) repair(ctx context.Context, r *Record) error {
	d.Log.Warn("going on with a refactoring that an earlier server left", "namespace", r.Namespace, "refactoring", r.ID, "phase", r.Phase)
	if r.Phase == Locking {
		return d.retreat(ctx, r, "the server ended before it wrote anything. Apply it again")
	}
	return d.carryOn(ctx, r)
}

// Run repairs at once, and again as long as something stays open, until ctx ends.
func (d *Desk) Run(ctx context.Context) error {
	tick := time.NewTicker(repairEvery)
	defer tick.Stop()
	d.mu.Lock()
	d.lost = ctx.Done()
	d.mu.Unlock()
	d.left.Store(true)
	var failures int
	var next time.Time
	for {
		if !d.now().Before(next) && d.left.Swap(false) {
			open, err := d.Repair(ctx)
			if err != nil && ctx.Err() == nil {
				d.Log.Warn("a refactoring stays open for now", "error", err)
			}
			failures++
			if open > 0 || err != nil {
				d.left.Store(true)
			} else {
				failures = 0
			}
			next = d.now().Add(repairPause(failures))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

const repairEvery = 5 * time.Second

// repairPause is how long to wait after a number of failed repairs: another try is not cheap, for it reads
// all records.
func repairPause(failures int) time.Duration {
	const most = 2 * time.Minute
	if failures == 0 {
		return 0
	}
	return min(repairEvery<<min(failures-1, 10), most)
}
