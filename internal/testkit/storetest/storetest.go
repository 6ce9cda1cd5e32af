// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package storetest is the conformance suite of the stores of bridges.
package storetest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
)

// Conform checks that a store without a document keeps the promises of the interface.
func Conform(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	read := func(want string) string {
		t.Helper()
		d, err := s.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if (d.Content == nil) != (want == "") || want != "" && !sameJSON(t, string(d.Content), want) {
			t.Fatalf("read %q, want %q", d.Content, want)
		}
		return d.Tag
	}
	write := func(content, over string) error { return s.Write(ctx, []byte(content), over) }
	const first, second, third = `{"domain":"a.example.com","n":9007199254740991,"m":0.1}`, `{"domain":"ü","list":[1,null]}`, `{"domain":"<&>"}`
	if tag := read(""); tag != "" {
		t.Fatal("a document that is not there has the tag", tag)
	}
	if err := write(first, ""); err != nil {
		t.Fatal(err)
	}
	was := read(first)
	if err := write(second, ""); !errors.Is(err, store.ErrMoved) {
		t.Fatal("created over a document:", err)
	}
	if err := write(second, was); err != nil {
		t.Fatal(err)
	}
	now := read(second)
	if now == was {
		t.Fatal("another document has the same tag")
	}
	if err := write(third, was); !errors.Is(err, store.ErrMoved) {
		t.Fatal("replaced another document than the one read:", err)
	}
	if err := s.Delete(ctx, was); !errors.Is(err, store.ErrMoved) {
		t.Fatal("removed another document than the one read:", err)
	}
	if err := s.Delete(ctx, read(second)); err != nil {
		t.Fatal(err)
	}
	read("")
	if err := s.Delete(ctx, now); err != nil {
		t.Fatal("what is gone already is an error:", err)
	}
	// After a removal, a document can be created again.
	if err := write(third, ""); err != nil {
		t.Fatal(err)
	}
	read(third)
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	da, db := json.NewDecoder(strings.NewReader(a)), json.NewDecoder(strings.NewReader(b))
	da.UseNumber()
	db.UseNumber()
	if da.Decode(&x) != nil || db.Decode(&y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}
