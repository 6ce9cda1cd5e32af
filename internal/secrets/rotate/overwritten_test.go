// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rotate_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/rotate"
)

// foreign puts a value of somebody else into the store.
func (w *world) foreign(part string, value decide.Value) {
	w.Helper()
	d, over, err := w.store.Read(w.Context())
	if err == nil {
		d = d.Clone()
		if d.Values[part] = value; value == "" {
			delete(d.Values, part)
		}
		err = w.store.Write(w.Context(), d, over)
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
		w.foreign(part, "theirs")
		was := w.values(w.store)
		_, err := w.keeper(text).Rotate(t.Context(), rotate.Ask{Names: []string{"db"}, Now: true})
		if err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), " has "+part+", which Yuba did not make") || !maps.Equal(w.values(w.store), was) {
			t.Errorf("%s: got %v", part, err)
		}
		w.foreign(part, "")
	}
	if _, err := w.keeper(pair).Rotate(t.Context(), rotate.Ask{Names: []string{"db"}, Now: true}); err != nil {
		t.Error(err)
	}
	if is := w.values(w.store); is["db_public"] == "" || len(is) != 3 {
		t.Errorf("after the rotation: %v", is)
	}
}
