// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/secrets/decide"
)

// ErrMoved means that somebody else wrote the document since it was read.
var ErrMoved = store.ErrMoved

// Place is where one document is. Calls may be repeated: after an error, a write may have happened.
type Place interface {
	// Name says where it is: "secret staging/shop-secrets".
	Name() string
	// Read returns the document, and its tag; an empty document with an empty tag if there is none.
	Read(ctx context.Context) (decide.Document, string, error)
	// Write replaces the document with a tag, or creates it if the tag is empty.
	Write(ctx context.Context, d decide.Document, over string) error
}

// Limited is a place whose documents have a limit.
type Limited interface {
	// Fits is an error if there is no room for a rotation of a document, in which each secret has two values.
	Fits(d decide.Document) error
}

// Fits implements [Limited].
func (j *JSON) Fits(d decide.Document) error {
	limited, ok := j.Store.(interface{ Room() int })
	if !ok {
		return nil
	}
	content, err := content(d)
	if err != nil {
		return err
	}
	if room := limited.Room() / 2; len(content) > room {
		return fmt.Errorf("write %s: the secrets have %d bytes, and there is room for %d, as each has two values during a rotation. Divide them among environments, or use another store", j.Name(), len(content), room)
	}
	return nil
}

// bookKey is the key of the book among values, where a store has nothing beside them.
const bookKey = "_yuba"

// Store is one place of a store, as package contracts/bridge/store defines it, and never deleted.
type Store interface {
	Name() string
	Read(ctx context.Context) (store.Document, error)
	Write(ctx context.Context, content []byte, over string) error
}

// JSON is a document as a JSON object in a store.
type JSON struct{ Store Store }

// Name implements [Place].
func (j *JSON) Name() string { return j.Store.Name() }

// Read implements [Place].
func (j *JSON) Read(ctx context.Context) (decide.Document, string, error) {
	found, err := j.Store.Read(ctx)
	if err != nil || found.Content == nil {
		return decide.Document{}.Clone(), found.Tag, err
	}
	values := map[string]string{}
	if json.Unmarshal(found.Content, &values) != nil {
		return decide.Document{}, "", fmt.Errorf("read %s: it is not a JSON object with texts, so Yuba cannot keep secrets in it. Use another name", j.Name())
	}
	d, err := parse(j.Name(), values, values[bookKey])
	return d, found.Tag, err
}

// parse makes a document of what a store has.
func parse(name string, values map[string]string, book string) (decide.Document, error) {
	d := decide.Document{}.Clone()
	for key, value := range values {
		if key != bookKey {
			d.Values[key] = decide.Value(value)
		}
	}
	if book == "" {
		return d, nil
	}
	if err := json.Unmarshal([]byte(book), &d.Book); err != nil {
		return decide.Document{}, fmt.Errorf("read %s: its book about the secrets cannot be read: %w. Somebody changed it; restore an earlier version", name, err)
	}
	if d.Book.Version > decide.BookVersion {
		return decide.Document{}, fmt.Errorf("read %s: a newer Yuba wrote it (version %d of the book, and this program knows %d). Upgrade this program", name, d.Book.Version, decide.BookVersion)
	}
	return d.Clone(), nil
}

// render makes of a document what a store has, and its book.
func render(d decide.Document) (values map[string]string, book string, err error) {
	values = map[string]string{}
	for key, value := range d.Values {
		values[key] = value.Reveal()
	}
	text, err := json.Marshal(d.Book)
	return values, string(text), err
}

// Write implements [Place].
func (j *JSON) Write(ctx context.Context, d decide.Document, over string) error {
	content, err := content(d)
	if err != nil {
		return err
	}
	return j.Store.Write(ctx, content, over)
}

// content is a document as JSON.
func content(d decide.Document) ([]byte, error) {
	values, book, err := render(d)
	if err != nil {
		return nil, err
	}
	values[bookKey] = book
	return json.Marshal(values)
}

// ForeignError means that a copy has values of somebody else under the names of secrets.
type ForeignError struct {
	Place string
	Parts []string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("copy to %s: it has %s, which Yuba did not write. Remove them there, or name another place", e.Place, strings.Join(e.Parts, ", "))
}

// StrangeError means that a place has the document of somebody else: of another environment, or a copy
// where a store is expected. Nothing in it was changed.
type StrangeError struct{ Place, Why string }

func (e *StrangeError) Error() string {
	return fmt.Sprintf("use %s: %s. Name another place. If nobody needs it there any more, remove Yuba's book from it (annotation %s, or key %s or %s); its values are kept",
		e.Place, e.Why, AnnotationBook, bookKey, plainBook)
}

// Mirror writes the values of a document to a copy, and reports whether it had to. A place that is not a copy
// of this document is a *[StrangeError].
func Mirror(ctx context.Context, from decide.Document, to Place) (changed bool, err error) {
	for range 3 {
		if changed, err = mirror(ctx, from, to); !errors.Is(err, ErrMoved) {
			return changed, err
		}
	}
	return false, err
}

func mirror(ctx context.Context, from decide.Document, to Place) (bool, error) {
	now, tag, err := to.Read(ctx)
	if err != nil {
		return false, err
	}
	if why := now.Book.StrangeCopy(from.Book.ID); why != "" {
		return false, &StrangeError{to.Name(), why}
	}
	want, foreign := copied(from, now)
	if len(foreign) > 0 {
		return false, &ForeignError{to.Name(), foreign}
	}
	if maps.Equal(want.Values, now.Values) && sameBook(want.Book, now.Book) {
		return false, nil
	}
	return true, to.Write(ctx, want, tag)
}

// Differs reports whether a copy has other values than the document, and never writes.
func Differs(ctx context.Context, from decide.Document, to Place) (bool, error) {
	now, _, err := to.Read(ctx)
	if err != nil {
		return false, err
	}
	if why := now.Book.StrangeCopy(from.Book.ID); why != "" {
		return false, &StrangeError{to.Name(), why}
	}
	want, foreign := copied(from, now)
	return len(foreign) > 0 || !maps.Equal(want.Values, now.Values), nil
}

// copied is what a copy should contain, given what it contains; foreign are parts that it has from
// somebody else.
func copied(from, now decide.Document) (want decide.Document, foreign []string) {
	want = withoutOurs(now)
	secrets := maps.Clone(from.Book.Secrets)
	if secrets == nil {
		secrets = map[string]decide.Entry{}
	}
	if r := from.Book.Rotation; r != nil {
		// Also the parts that only the old generator made.
		for name, e := range r.Replaced {
			merged := secrets[name]
			merged.Parts = union(merged.Parts, e.Parts)
			secrets[name] = merged
		}
	}
	for _, e := range secrets {
		for _, part := range e.Parts {
			for _, key := range []string{part, part + decide.Previous} {
				value, ok := from.Values[key]
				if !ok || key != part && !from.Ours(key) {
					continue
				}
				if there, taken := want.Values[key]; taken && there != value {
					foreign = append(foreign, key)
				}
				want.Values[key] = value
			}
		}
	}
	want.Book.Secrets, want.Book.Rotation = secrets, from.Book.Rotation.Silent()
	want.Book.CopyOf, want.Book.Environment = from.Book.ID, from.Book.Environment
	return want, foreign
}

// withoutOurs is a copy without what Yuba wrote to it. Previous values are Yuba's only while the copy's own book has
// both values of their secrets: at other times, keys with such names are those of somebody else.
func withoutOurs(now decide.Document) decide.Document {
	rest := now.Clone()
	for _, e := range now.Book.Secrets {
		for _, part := range e.Parts {
			delete(rest.Values, part)
		}
	}
	r := now.Book.Rotation
	if r == nil || r.Phase == decide.PhaseRetire {
		return rest
	}
	for _, part := range rotated(now) {
		if now.Ours(part + decide.Previous) {
			delete(rest.Values, part+decide.Previous)
		}
	}
	return rest
}

// rotated are the old and the new parts of the secrets of a document's rotation.
func rotated(d decide.Document) (parts []string) {
	for _, name := range d.Book.Rotation.Names {
		parts = union(parts, union(d.Book.Secrets[name].Parts, d.Book.Rotation.Replaced[name].Parts))
	}
	return parts
}

// Admits returns why a copy could not have a document that begins a rotation: a *[ForeignError] if it has values of
// somebody else under the names that the rotation uses until its end. It never writes.
func Admits(ctx context.Context, begun decide.Document, to Place) error {
	now, _, err := to.Read(ctx)
	if err != nil {
		return err
	}
	if why := now.Book.StrangeCopy(begun.Book.ID); why != "" {
		return &StrangeError{to.Name(), why}
	}
	_, foreign := copied(begun, now)
	rest := withoutOurs(now)
	for _, part := range rotated(begun) { // a rotation that goes back has the new value as the previous one
		if _, taken := rest.Values[part+decide.Previous]; taken {
			foreign = union(foreign, []string{part + decide.Previous})
		}
	}
	if len(foreign) > 0 {
		slices.Sort(foreign)
		return &ForeignError{to.Name(), foreign}
	}
	return nil
}

func union(a, b []string) []string {
	out := append([]string(nil), a...)
	for _, s := range b {
		found := false
		for _, other := range a {
			found = found || s == other
		}
		if !found {
			out = append(out, s)
		}
	}
	return out
}

func sameBook(a, b decide.Book) bool {
	one, errA := json.Marshal(a)
	two, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(one) == string(two)
}
