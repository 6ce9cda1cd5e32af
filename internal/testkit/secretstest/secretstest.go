// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package secretstest is the conformance suite of the places of secrets.
package secretstest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
)

// Document is a document with a rotation under way.
func Document() decide.Document {
	made := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := decide.Document{}.Add([]decide.Made{{Name: "db", Entry: decide.Entry{Generator: "password length=32", Made: made, Parts: []string{"db"}}, Values: map[string]decide.Value{"db": "old \"quoted\"\nline: {{ü}}"}}})
	return decide.Introduce(d.Owned("staging", "of-staging"), "id", []decide.Made{{Name: "db", Entry: decide.Entry{Generator: "password length=32", Made: made, Parts: []string{"db"}}, Values: map[string]decide.Value{"db": "new"}}},
		[]string{"a/x", "a/y"}, made)
}

// Conform checks that a place without a document keeps the promises of the interface.
func Conform(t *testing.T, p keep.Place) {
	t.Helper()
	ctx := t.Context()
	read := func(want decide.Document) string {
		t.Helper()
		got, tag, err := p.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: read %+v, want %+v", p.Name(), got.Book, want.Book)
		}
		return tag
	}
	first := Document()
	delete(first.Values, "db_previous") // some clouds refuse {{
	first.Values["db_previous"] = "old \"quoted\"\nline: ü"
	if tag := read(decide.Document{}.Clone()); tag != "" {
		t.Fatal("a document that is not there has the tag", tag)
	}
	if err := p.Write(ctx, first, ""); err != nil {
		t.Fatal(err)
	}
	was := read(first)
	if err := p.Write(ctx, first, ""); !errors.Is(err, keep.ErrMoved) {
		t.Fatal("created over a document:", err)
	}
	second := decide.Ran(first)
	if err := p.Write(ctx, second, was); err != nil {
		t.Fatal(err)
	}
	read(second)
	if err := p.Write(ctx, first, was); !errors.Is(err, keep.ErrMoved) {
		t.Fatal("replaced another document than the one read:", err)
	}
	read(second)
	mirror(t, p, second)
}

// refused checks that a document is not copied to a place, and that nothing there changes.
func refused(t *testing.T, p keep.Place, d decide.Document) {
	t.Helper()
	was, _, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var strange *keep.StrangeError
	if _, err := keep.Mirror(t.Context(), d, p); !errors.As(err, &strange) {
		t.Fatalf("copied to the document of somebody else: %v", err)
	}
	if _, err := keep.Differs(t.Context(), d, p); !errors.As(err, &strange) {
		t.Fatalf("compared with the document of somebody else: %v", err)
	}
	if is, _, err := p.Read(t.Context()); err != nil || !reflect.DeepEqual(is, was) {
		t.Fatalf("%s: the document of somebody else changed, %v", p.Name(), err)
	}
}

// mirror checks copies, with the same place as the copy of other documents.
func mirror(t *testing.T, p keep.Place, now decide.Document) {
	t.Helper()
	ctx := t.Context()
	finished := decide.Finish(decide.Retire(decide.Ran(now), nil, time.Now()))
	refused(t, p, finished) // it is the store
	now.Book.ID, now.Book.CopyOf = "", now.Book.ID
	_, tag, err := p.Read(ctx)
	if err == nil {
		err = p.Write(ctx, now, tag)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if changed, err := keep.Mirror(ctx, finished, p); err != nil || changed != want {
			t.Fatalf("copy %d: changed %v, %v", i, changed, err)
		}
	}
	got, tag, err := p.Read(ctx)
	if err != nil || len(got.Values) != 1 || got.Values["db"] != "new" {
		t.Fatalf("the copy has %d values, %v", len(got.Values), err)
	}
	got.Values["mine"], got.Values["api"] = "stays", "theirs"
	if err := p.Write(ctx, got, tag); err != nil {
		t.Fatal(err)
	}
	if differs, err := keep.Differs(ctx, finished, p); differs || err != nil {
		t.Fatalf("a value of somebody else is a difference: %v, %v", differs, err)
	}
	other := finished.Owned("prod", "")
	other.Book.ID = "another"
	refused(t, p, other)
	more := finished.Add([]decide.Made{{Name: "api", Entry: decide.Entry{Parts: []string{"api"}}, Values: map[string]decide.Value{"api": "ours"}}})
	var foreign *keep.ForeignError
	if _, err := keep.Mirror(ctx, more, p); !errors.As(err, &foreign) {
		t.Fatalf("a value of somebody else was overwritten: %v", err)
	}
	if got, _, _ := p.Read(ctx); got.Values["mine"] != "stays" || got.Values["api"] != "theirs" {
		t.Fatal("values of somebody else are gone")
	}
}
