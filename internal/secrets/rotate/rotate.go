// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/generate"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
)

// rotation is one call.
type rotation struct {
	*Keeper
	ask Ask
	// asked: what was asked for has begun, in this call or in the one that it continues.
	asked bool
	// failed is the dependent that failed in this call.
	failed error
	// done are the secrets whose rotation this call finished.
	done []string
}

// Rotate continues a rotation that is not finished, and then rotates what is asked for, in two steps.
func (k *Keeper) Rotate(ctx context.Context, ask Ask) (*Report, error) {
	r := &rotation{Keeper: k, ask: ask, asked: len(ask.Names) == 0 && !ask.Due && !ask.All}
	err := r.steps(ctx)
	d, _, readErr := k.read(ctx)
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	return k.report(d, decide.Secrets(k.facts(d))), err
}

// steps makes one step after the other. Each begins with a read, so it does not matter which process made
// the one before.
func (r *rotation) steps(ctx context.Context) error {
	for {
		d, _, err := r.read(ctx)
		if err != nil {
			return err
		}
		if again, err := r.forget(ctx, d); again || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		overlap := r.overlap()
		if r.ask.Now {
			overlap = 0
		}
		step := decide.Next(d.Book, overlap, r.Now())
		over, err := r.step(ctx, d, step)
		if over || err != nil {
			return err
		}
	}
}

// forget removes dependents that need not run any more from a rotation; again says that the document changed.
// One that this call does not know, but that still reads the values, is an error: retiring the old values
// without it would break it.
func (r *rotation) forget(ctx context.Context, d decide.Document) (again bool, err error) {
	missing := decide.Missing(d.Book, r.Dependents)
	if len(missing) == 0 {
		return false, nil
	}
	if r.Stacks == nil {
		return false, fmt.Errorf("continue the rotation of %s: it began with %s, and the file neither names them now nor a Secret that they read. Restore the file, and finish the rotation first",
			strings.Join(d.Book.Rotation.Names, ", "), strings.Join(missing, ", "))
	}
	for _, name := range missing {
		if err := r.Stacks.Gone(ctx, name); err != nil {
			return false, fmt.Errorf("continue the rotation of %s: %w", strings.Join(d.Book.Rotation.Names, ", "), err)
		}
	}
	_, _, err = r.write(ctx, d, func(d decide.Document) decide.Document { return decide.Without(d, missing) })
	return true, err
}

// step makes a step; over ends the call.
func (r *rotation) step(ctx context.Context, d decide.Document, step decide.Step) (over bool, err error) {
	now := r.Now().UTC().Truncate(time.Second)
	switch step.Do {
	case decide.StepNone:
		return r.begin(ctx, d, now)
	case decide.StepRun:
		return false, r.run(ctx, d, step.Dependent)
	case decide.StepWait:
		if err := r.mirror(ctx, d, nil); err != nil {
			return true, err
		}
		return true, &WaitingError{fmt.Sprintf("both values of %s are valid until %s. Then finish the rotation, or end it now with --now:\n    yuba secrets rotate %s",
			strings.Join(d.Book.Rotation.Names, ", "), step.At.Format(time.RFC3339), r.Environment)}
	case decide.StepRetire:
		if r.failed != nil && d.Book.Rotation.Phase == decide.PhaseRestore {
			return true, fmt.Errorf("rotate %s: step 2 failed, and both values are valid again: %w\nRemove the cause, and try step 2 again:\n    yuba secrets rotate %s",
				strings.Join(d.Book.Rotation.Names, ", "), r.failed, r.Environment)
		}
		_, _, err := r.write(ctx, d, func(d decide.Document) decide.Document { return decide.Retire(d, r.Dependents, now) })
		return false, err
	default:
		return r.finish(ctx, d)
	}
}

// begin makes the new values.
func (r *rotation) begin(ctx context.Context, d decide.Document, now time.Time) (over bool, err error) {
	if r.asked {
		if len(r.done) == 0 && len(r.ask.Names) == 0 {
			r.News("Nothing to rotate.")
		}
		if len(r.done) > 0 || d.Book.ID == "" {
			return true, nil
		}
		// The process that finished the last rotation may have been killed before the copies were equal.
		return true, r.mirror(ctx, d, nil)
	}
	r.asked = true
	for _, name := range r.Dependents {
		if err := r.Stacks.Check(ctx, name); err != nil {
			return true, fmt.Errorf("rotate: nothing was changed, because %s could not run with new values: %w", name, err)
		}
	}
	var names []string
	_, err = r.change(ctx, func(d decide.Document) (*decide.Document, error) {
		if d.Book.Rotation != nil {
			return nil, nil // somebody else began one meanwhile: it is continued
		}
		var err error
		if names, err = r.ask.names(decide.Secrets(r.facts(d)), r.File, r.Environment); err != nil || len(names) == 0 {
			return nil, err
		}
		made, err := generate.All(r.File, names, d.Values, now)
		if err != nil {
			return nil, err
		}
		if err := r.free(d, made); err != nil {
			return nil, err
		}
		begun := decide.Introduce(d, rand.Text()[:12], made, r.Dependents, now)
		return &begun, r.admitted(ctx, begun)
	})
	if err == nil && len(names) > 0 {
		r.News("Rotating %s. Step 1 of 2: the new values are current, and the old ones stay valid.", strings.Join(names, ", "))
	}
	return false, err
}

// free refuses a rotation that would overwrite, and delete in the end, values that are not those of its secrets.
func (r *rotation) free(d decide.Document, made []decide.Made) error {
	taken := decide.Overwritten(d, made)
	for _, m := range made {
		if names := taken[m.Name]; len(names) > 0 {
			return fmt.Errorf("rotate %s: nothing was changed, because %s has %s, which Yuba did not make for this secret and would overwrite. "+
				"Remove it from the store, or move it to another key if somebody needs it. Then rotate again:\n    yuba secrets rotate %s %s",
				m.Name, r.Store.Name(), strings.Join(names, " and "), r.Environment, m.Name)
		}
	}
	return nil
}

// admitted refuses a rotation that could not be copied: the readers of the copy would not get the new values.
func (r *rotation) admitted(ctx context.Context, begun decide.Document) error {
	for _, place := range r.Copies {
		if err := keep.Admits(ctx, begun, place); err != nil {
			return fmt.Errorf("rotate %s: nothing was changed: %w", strings.Join(begun.Book.Rotation.Names, ", "), err)
		}
	}
	return nil
}

// run runs a dependent, and records how it went.
func (r *rotation) run(ctx context.Context, d decide.Document, name string) error {
	if err := r.mirror(ctx, d, nil); err != nil {
		return err
	}
	phase := d.Book.Rotation.Phase
	r.News("Running %s (%s) …", name, phase.Words())
	rest := r.hold(ctx)
	err := r.Stacks.Run(ctx, name)
	rest()
	var failed *FailedError
	switch {
	case err == nil:
		_, _, err := r.write(ctx, d, decide.Ran)
		return err
	case !errors.As(err, &failed):
		return err
	}
	now := r.Now().UTC().Truncate(time.Second)
	_, wrote, writeErr := r.write(ctx, d, func(d decide.Document) decide.Document { return decide.Fail(d, failed.Message, now) })
	if writeErr != nil {
		return fmt.Errorf("%s failed (%s): %w\nIt could not be recorded, so it runs again when you continue: %w", name, phase.Words(), err, writeErr)
	}
	if !wrote {
		return nil // another process recorded how it went
	}
	r.failed = fmt.Errorf("%s failed: %w", name, err)
	switch phase {
	case decide.PhaseIntroduce:
		r.News("%s failed. Going back to the old values; the new ones stay valid until all have run.", name)
		return nil
	case decide.PhaseRetire:
		r.News("%s failed without the old values. Both are valid again.", name)
		return nil
	}
	return fmt.Errorf("rotate %s: %w on the way back (%s). Both values are valid. Remove the cause, and continue:\n    yuba secrets rotate %s",
		strings.Join(d.Book.Rotation.Names, ", "), r.failed, phase.Words(), r.Environment)
}

// renewer is a place by which stacks wait for their turn.
type renewer interface {
	Renew(ctx context.Context) error
}

// hold keeps the other stacks waiting until rest is called: the one that runs may take, or wait, longer than a turn lasts.
func (r *rotation) hold(ctx context.Context) (rest func()) {
	renew := func() {
		for _, place := range append([]keep.Place{r.Store}, r.Copies...) {
			if p, ok := place.(renewer); ok {
				if err := p.Renew(ctx); err != nil && ctx.Err() == nil {
					r.News("Other stacks may run too early: %v", err)
				}
			}
		}
	}
	renew()
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		again := time.NewTicker(keep.TurnLasts / 3)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				renew()
			}
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// finish forgets the old values.
func (r *rotation) finish(ctx context.Context, d decide.Document) (over bool, err error) {
	rot := d.Book.Rotation
	// The copies lose the old values before the store forgets the rotation: a process that is killed in between
	// leaves one that the next call continues.
	if err := r.mirror(ctx, d, nil); err != nil {
		return true, err
	}
	now, wrote, err := r.write(ctx, d, decide.Finish)
	if err != nil || !wrote {
		return false, err
	}
	if err := r.mirror(ctx, now, nil); err != nil {
		return true, err
	}
	names := strings.Join(rot.Names, ", ")
	if rot.Back {
		because := ""
		if rot.Failed != nil {
			because = ": " + rot.Failed.String()
		}
		return true, &FailedError{fmt.Sprintf("rotate %s: rolled back to the old values%s", names, because)}
	}
	r.News("Rotated %s. The old values are gone.", names)
	r.done = append(r.done, rot.Names...)
	r.covers(rot.Names)
	return false, nil
}

// covers notes that secrets that were asked for are rotated, if the call continued their rotation.
func (r *rotation) covers(names []string) {
	if r.asked || len(r.ask.Names) == 0 {
		return
	}
	for _, name := range r.ask.Names {
		found := false
		for _, other := range names {
			found = found || name == other
		}
		if !found {
			return
		}
	}
	r.asked = true
}

// write writes what a step makes of a document, if the document is still the one that the step was decided
// on. If it is not, wrote is false, and the next step is decided anew. It returns the document of the store.
func (r *rotation) write(ctx context.Context, was decide.Document, next func(decide.Document) decide.Document) (is decide.Document, wrote bool, err error) {
	is, err = r.change(ctx, func(now decide.Document) (*decide.Document, error) {
		wrote = sameRotation(was.Book.Rotation, now.Book.Rotation)
		if !wrote {
			return nil, nil
		}
		want := next(now)
		if names := decide.Theirs(now, want); len(names) > 0 {
			return nil, r.taken(now, names)
		}
		return &want, nil
	})
	return is, wrote && err == nil, err
}

// taken refuses a step that needs the names of values that somebody added since the rotation began.
func (r *rotation) taken(d decide.Document, names []string) error {
	return fmt.Errorf("continue the rotation of %s: the next step was not made, because %s has %s, which Yuba did not make and would overwrite. "+
		"Remove it from the store, or move it to another key if somebody needs it. Then continue:\n    yuba secrets rotate %s",
		strings.Join(d.Book.Rotation.Names, ", "), r.Store.Name(), strings.Join(names, " and "), r.Environment)
}

// sameRotation reports whether two processes are at the same step.
func sameRotation(a, b *decide.Rotation) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Phase == b.Phase && len(a.Queue) == len(b.Queue) && a.Since.Equal(b.Since)
}
