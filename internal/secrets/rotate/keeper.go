// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
	"github.com/yuba-dev/yuba/internal/secrets/generate"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
)

// Keeper has the secrets of an environment.
type Keeper struct {
	// Environment is its name, for messages.
	Environment string
	File        *declare.File
	Store       keep.Place
	Copies      []keep.Place
	// Dependents are the stacks that read the secrets, in the order in which they run.
	Dependents []string
	Stacks     Stacks
	Now        func() time.Time
	// News says what happens.
	News func(format string, args ...any)
}

// Stacks runs dependents.
type Stacks interface {
	// Check says why a stack could not run now; nil if it could. It changes nothing.
	Check(ctx context.Context, name string) error
	// Gone returns nil if the stack was deleted, or neither reads the secrets nor is named as a dependent any
	// more, and says otherwise why a call that does not know it cannot continue its rotation.
	Gone(ctx context.Context, name string) error
	// Run runs a stack with the present values, and returns when it has applied them. A stack that failed is
	// a *FailedError, one that waits for a person a *WaitingError.
	Run(ctx context.Context, name string) error
}

// FailedError is a dependent that failed.
type FailedError struct{ Message string }

func (e *FailedError) Error() string { return e.Message }

// WaitingError means that the same call continues later.
type WaitingError struct{ Message string }

func (e *WaitingError) Error() string { return e.Message }

// ActionError means that a person has something to do, and everything else is done.
type ActionError struct{ Message string }

func (e *ActionError) Error() string { return e.Message }

// defaultOverlap is for secrets whose readers are not known: somebody may still use the old value.
const defaultOverlap = 24 * time.Hour

// overlap is how long both values stay valid.
func (k *Keeper) overlap() time.Duration {
	switch {
	case k.File.Overlap != nil:
		return *k.File.Overlap
	case len(k.Dependents) == 0:
		return defaultOverlap
	}
	return 0
}

func (k *Keeper) facts(d decide.Document) decide.Facts {
	f := decide.Facts{Declared: k.File.Declared(), Book: d.Book, Present: map[string]bool{}, Now: k.Now()}
	for part := range d.Values {
		f.Present[part] = true
	}
	return f
}

// attempts limits how often a change is decided again because somebody else wrote.
const attempts = 5

// read reads the store. One that belongs to another environment is a *[keep.StrangeError].
func (k *Keeper) read(ctx context.Context) (decide.Document, string, error) {
	d, tag, err := k.Store.Read(ctx)
	if err != nil {
		return d, tag, err
	}
	if why := d.Book.Strange(k.Environment); why != "" {
		return decide.Document{}, "", &keep.StrangeError{Place: k.Store.Name(), Why: why}
	}
	return d, tag, nil
}

// change reads the store, and writes what next makes of it; nothing if next returns nil.
func (k *Keeper) change(ctx context.Context, next func(decide.Document) (*decide.Document, error)) (decide.Document, error) {
	for i := 0; ; i++ {
		now, tag, err := k.read(ctx)
		if err != nil {
			return now, err
		}
		want, err := next(now)
		if err != nil || want == nil {
			return now, err
		}
		owned := want.Owned(k.Environment, rand.Text())
		err = k.Store.Write(ctx, owned, tag)
		if err == nil {
			return owned, nil
		}
		if !errors.Is(err, keep.ErrMoved) || i == attempts {
			return now, err
		}
	}
}

// Init makes the secrets that do not exist, adopts those that others made, and writes the copies. It never
// replaces a value. With prune, it removes secrets that are no longer declared.
func (k *Keeper) Init(ctx context.Context, prune bool) (*Report, error) {
	var done []decide.Decision
	d, err := k.change(ctx, func(d decide.Document) (*decide.Document, error) {
		done = decide.Secrets(k.facts(d))
		want, err := k.made(d, done, prune)
		if err != nil || want == nil {
			return want, err
		}
		return want, k.fits(*want)
	})
	if err != nil {
		return nil, err
	}
	r := k.report(d, done)
	if err := k.mirror(ctx, d, r); err != nil {
		return r, err
	}
	return r, r.action(k.Environment)
}

// fits checks that a later rotation has room in each place.
func (k *Keeper) fits(d decide.Document) error {
	for _, place := range append([]keep.Place{k.Store}, k.Copies...) {
		if limited, ok := place.(keep.Limited); ok {
			if err := limited.Fits(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// made is the document after Init; nil if it stays as it is.
func (k *Keeper) made(d decide.Document, decisions []decide.Decision, prune bool) (*decide.Document, error) {
	now := k.Now().UTC().Truncate(time.Second)
	out, changed := d, d.Book.ID == "" // also a store without secrets has an identity
	var names []string
	for i, x := range decisions {
		switch {
		case x.Verb == decide.VerbMake:
			names = append(names, x.Name)
		case x.Verb == decide.VerbAdopt:
			s := k.File.Secret(x.Name)
			out, changed = out.Adopt(x.Name, decide.Entry{Made: now, Adopted: true, Parts: s.Parts()}), true
		case x.Verb == decide.VerbRetire && prune && d.Book.Rotation != nil:
			return nil, fmt.Errorf("remove secret %s: a rotation is not finished. Finish it first:\n    yuba secrets rotate %s", x.Name, k.Environment)
		case x.Verb == decide.VerbRetire && prune:
			out, changed = out.Remove(x.Name), true
			decisions[i].Message = "It is not declared any more, and was removed"
		}
	}
	if len(names) > 0 {
		made, err := generate.All(k.File, names, out.Values, now)
		if err != nil {
			return nil, err
		}
		return ptr(out.Add(made)), nil
	}
	if !changed {
		return nil, nil
	}
	return &out, nil
}

func ptr[T any](v T) *T { return &v }

// Sync writes the copies.
func (k *Keeper) Sync(ctx context.Context) (*Report, error) {
	d, _, err := k.read(ctx)
	if err != nil {
		return nil, err
	}
	r := k.report(d, decide.Secrets(k.facts(d)))
	return r, k.mirror(ctx, d, r)
}

// mirror writes the copies, all of them even if one fails.
func (k *Keeper) mirror(ctx context.Context, d decide.Document, r *Report) error {
	if d.Book.ID == "" && len(k.Copies) > 0 {
		return fmt.Errorf("write the copies: %s has no secrets yet. Make them:\n    yuba secrets init %s", k.Store.Name(), k.Environment)
	}
	var problems []error
	for _, place := range k.Copies {
		c := Copy{Name: place.Name(), State: CopySame}
		changed, err := keep.Mirror(ctx, d, place)
		switch {
		case err != nil:
			c.State, c.Problem = CopyFailed, err.Error()
			problems = append(problems, err)
		case changed:
			c.State = CopyWritten
		}
		if r != nil {
			r.Copies = append(r.Copies, c)
		}
	}
	return errors.Join(problems...)
}

// Look reads the store and compares the copies. It changes nothing.
func (k *Keeper) Look(ctx context.Context) (*Report, error) {
	d, _, err := k.read(ctx)
	if err != nil {
		return nil, err
	}
	r := k.report(d, decide.Secrets(k.facts(d)))
	for _, place := range k.Copies {
		c := Copy{Name: place.Name(), State: CopySame}
		differs, err := keep.Differs(ctx, d, place)
		switch {
		case err != nil:
			c.State, c.Problem = CopyFailed, err.Error()
		case differs:
			c.State = CopyDiffers
		}
		r.Copies = append(r.Copies, c)
	}
	return r, nil
}

// Reveal returns the value of a part.
func (k *Keeper) Reveal(ctx context.Context, part string) (string, error) {
	d, _, err := k.read(ctx)
	if err != nil {
		return "", err
	}
	value, ok := d.Values[part]
	if !ok {
		var known []string
		for _, s := range k.File.Secrets {
			known = append(known, s.Parts()...)
		}
		return "", fmt.Errorf("%s does not have %s; it may have %s", k.Store.Name(), part, strings.Join(known, ", "))
	}
	return value.Reveal(), nil
}

// Ask says what to rotate.
type Ask struct {
	// Names are secrets; Due selects those that are to be rotated, All every one.
	Names    []string
	Due, All bool
	// Now ends the overlap of both values early.
	Now bool
}

// names are the secrets to rotate.
func (a Ask) names(decisions []decide.Decision, f *declare.File, environment string) ([]string, error) {
	for _, name := range a.Names {
		if f.Secret(name) == nil {
			var known []string
			for _, s := range f.Secrets {
				known = append(known, s.Name)
			}
			return nil, &UnknownError{name, known}
		}
	}
	var names []string
	for _, d := range decisions {
		switch {
		case d.Verb == decide.VerbMake && slices.Contains(a.Names, d.Name):
			return nil, fmt.Errorf("rotate %s: it does not exist yet. Make it:\n    yuba secrets init %s", d.Name, environment)
		case d.Verb == decide.VerbRetire, d.Verb == decide.VerbMake:
		case a.All, a.Due && d.Verb == decide.VerbRotate, slices.Contains(a.Names, d.Name):
			names = append(names, d.Name)
		}
	}
	return names, nil
}

// UnknownError means that a secret is not declared.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s does not declare the secret %s; it has %s", declare.FileName, e.Name, strings.Join(e.Known, ", "))
}
