// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"errors"
	"os"
	"slices"
	"testing"
)

func TestAPackageIsRemovedByItsName(t *testing.T) {
	b := newBench(t).publish("1.0.0").publish("2.0.0")
	first := b.must(Want{Version: "1.0.0"})
	b.must(Want{Version: "2.0.0"})
	idle := func(string) bool { return false }
	for sentence, try := range map[string]struct{ version, scope string }{"another version": {version: "3.0.0"}, "another scope": {"1.0.0", "own-0123456789abcdef"}} {
		if _, err := b.store.Remove(b.address(), try.version, try.scope, idle); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	held, err := b.store.Scope("").Hold(b.address(), "1.0.0")
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	if _, err := b.store.Remove(b.address(), "1.0.0", "", idle); !errors.Is(err, ErrHeld) {
		t.Errorf("while somebody holds it: %v", err)
	}
	held.Release()
	if _, err := b.store.Remove(b.address(), "1.0.0", "", func(dir string) bool { return dir == first.Dir }); !errors.Is(err, ErrHeld) {
		t.Errorf("while it is busy: %v", err)
	}
	if got := b.left(); !slices.Equal(got, []string{"1.0.0", "2.0.0"}) {
		t.Errorf("%v are left", got)
	}
	removed, err := b.store.Remove(b.address(), "1.0.0", Shared, idle)
	if err != nil || len(removed) != 1 || removed[0].Version != "1.0.0" || removed[0].Scope != Shared {
		t.Errorf("%+v %v", removed, err)
	}
	if got := b.left(); !slices.Equal(got, []string{"2.0.0"}) {
		t.Errorf("%v are left", got)
	}
	if _, err := os.Stat(first.Dir); !os.IsNotExist(err) {
		t.Errorf("its files are there: %v", err)
	}
	if got := b.must(Want{Version: "1.0.0"}); !got.Downloaded {
		t.Errorf("it was not downloaded again: %+v", got)
	}
}
