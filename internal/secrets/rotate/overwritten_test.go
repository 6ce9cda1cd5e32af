// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rotate_test

import (
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
