// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rotate_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
	"github.com/yuba-dev/yuba/internal/secrets/rotate"
)

// foreign puts a value of somebody else into a place.
func (w *world) foreign(p keep.Place, part string, value decide.Value) {
	w.Helper()
	d, over, err := p.Read(w.Context())
	if err == nil {
		d = d.Clone()
		if d.Values[part] = value; value == "" {
			delete(d.Values, part)
		}
		err = p.Write(w.Context(), d, over)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// A rotation changes nothing if it would overwrite a value of somebody else, which its end would delete.
func TestValuesOfOthersAreNotOverwritten(t *testing.T) {
	w := newWorld(t)
	if _, err := w.keeper(environment).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	pair := strings.Replace(environment, "db: {password: {}, rotateEvery: 30d}", "db: {keyPair: {}}", 1)
	for part, text := range map[string]string{"db_previous": environment, "db_retired": environment, "db_public": pair} {
		w.foreign(w.store, part, "theirs")
		was := w.values(w.store)
		_, err := w.keeper(text).Rotate(t.Context(), rotate.Ask{Names: []string{"db"}, Now: true})
		if err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), " has "+part+", which Yuba did not make") || !maps.Equal(w.values(w.store), was) {
			t.Errorf("%s: got %v", part, err)
		}
		w.foreign(w.store, part, "")
	}
	if _, err := w.keeper(pair).Rotate(t.Context(), rotate.Ask{Names: []string{"db"}, Now: true}); err != nil {
		t.Error(err)
	}
	if is := w.values(w.store); is["db_public"] == "" || len(is) != 3 {
		t.Errorf("after the rotation: %v", is)
	}
}

// Neither does one that would overwrite a value of somebody else in a copy: the store stays as it is.
func TestValuesOfOthersInACopyAreNotOverwritten(t *testing.T) {
	w := newWorld(t)
	if _, err := w.keeper(environment).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.foreign(w.copy, "db_previous", "theirs")
	was, copied := w.values(w.store), w.values(w.copy)
	if _, err := w.keeper(environment).Sync(t.Context()); err != nil {
		t.Error(err)
	}
	_, err := w.keeper(environment).Rotate(t.Context(), rotate.Ask{Names: []string{"db"}, Now: true})
	if err == nil || !strings.Contains(err.Error(), "rotate db: nothing was changed: copy to ") || !strings.Contains(err.Error(), "it has db_previous, which Yuba did not write") ||
		!maps.Equal(w.values(w.store), was) || !maps.Equal(w.values(w.copy), copied) {
		t.Errorf("got %v", err)
	}
	w.foreign(w.copy, "db_previous", "")
	if _, err := w.keeper(environment).Rotate(t.Context(), rotate.Ask{Names: []string{"db"}, Now: true}); err != nil {
		t.Error(err)
	}
	if is := w.values(w.copy); !maps.Equal(is, w.values(w.store)) || len(is) != 2 {
		t.Errorf("after the rotation the copy has %v", is)
	}
}

// Somebody adds a value under the name of the former one during the second step, which does not have it there any more.
// It stays, also if the step fails: then the rotation waits until it is moved.
func TestAValueAddedDuringARotationStays(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(environment, "a/x")
	if _, err := k.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	old := w.values(w.store)["db"]
	second := func() bool {
		d, _, err := w.store.Read(t.Context())
		return err == nil && d.Book.Rotation != nil && d.Book.Rotation.Phase == decide.PhaseRetire
	}
	w.stacks.meanwhile = func() {
		if second() {
			w.foreign(w.store, "db_previous", "theirs")
			w.foreign(w.copy, "db_previous", "others")
			w.stacks.fails["a/x"] = 1
		}
	}
	_, err := k.Rotate(t.Context(), rotate.Ask{Names: []string{"db"}, Now: true})
	is := w.values(w.store)
	if err == nil || !strings.Contains(err.Error(), "a/x failed") || !strings.Contains(err.Error(), "has db_previous, which Yuba did not make and would overwrite") ||
		!second() || is["db_previous"] != "theirs" || is["db_retired"] != old || strings.Contains(err.Error(), "theirs") {
		t.Fatalf("got %v with %v", err, is)
	}
	if look, err := k.Look(t.Context()); err != nil || look.Secrets[0].Previous || look.Copies[0].State != rotate.CopySame {
		t.Errorf("it looks like %+v, %v", look, err)
	}
	w.stacks.meanwhile = nil
	if _, err := k.Rotate(t.Context(), rotate.Ask{}); err != nil { // the stack runs again, and works
		t.Error(err)
	}
	is, copied := w.values(w.store), w.values(w.copy)
	if is["db"] == old || is["db_previous"] != "theirs" || len(is) != 3 || copied["db_previous"] != "others" || copied["db"] != is["db"] || w.stacks.uses["a/x"] != is["db"].Reveal() {
		t.Errorf("after the rotation: %v, the copy has %v", is, copied)
	}
}

// The second step does not begin while somebody else's value has the name that it needs.
func TestAValueAddedDuringTheOverlapStays(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(environment)
	if _, err := k.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	old := w.values(w.store)["db"]
	var waiting *rotate.WaitingError
	if _, err := k.Rotate(t.Context(), rotate.Ask{Names: []string{"db"}}); !errors.As(err, &waiting) {
		t.Fatal(err)
	}
	w.foreign(w.store, "db_retired", "theirs")
	if _, err := k.Rotate(t.Context(), rotate.Ask{Now: true}); err == nil || !strings.Contains(err.Error(), "has db_retired, which Yuba did not make") || !strings.Contains(err.Error(), "yuba secrets rotate staging") {
		t.Errorf("got %v", err)
	}
	if is := w.values(w.store); is["db_retired"] != "theirs" || is["db_previous"] != old {
		t.Errorf("it has %v", is)
	}
	w.foreign(w.store, "db_retired", "")
	if _, err := k.Rotate(t.Context(), rotate.Ask{Now: true}); err != nil {
		t.Error(err)
	}
	if is := w.values(w.store); is["db"] == old || len(is) != 2 {
		t.Errorf("after the rotation: %v", is)
	}
}
