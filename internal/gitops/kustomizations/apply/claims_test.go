// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"sync"
	"testing"
)

func TestClaims(t *testing.T) {
	a, b, c := Owner{Namespace: "n", Name: "a"}, Owner{Namespace: "n", Name: "b"}, Owner{Namespace: "n", Name: "c"}
	at := place{id: ID{Name: "object"}}
	all := func(Owner) bool { return true }
	none := func(Owner) bool { return false }
	fresh := func() *claims { return &claims{book: map[place]*claim{}} }

	t.Run("who comes first has it", func(t *testing.T) {
		k := fresh()
		for range 2 {
			if k.take(at, a, nil, false, all) != nil {
				t.Error("a does not have it")
			}
		}
		if held := k.take(at, b, nil, false, all); held == nil || *held != a {
			t.Errorf("b is told of %v", held)
		}
	})
	t.Run("who is named by the object has it, until he lets go", func(t *testing.T) {
		k := fresh()
		if held := k.take(at, b, &a, false, all); held == nil || *held != a {
			t.Errorf("b is told of %v", held)
		}
		if k.take(at, a, nil, false, all) != nil {
			t.Error("a does not have it")
		}
		if heirs := k.release(at, a); !slices.Equal(heirs, []Owner{b}) {
			t.Errorf("the heirs are %v", heirs)
		}
		// The object's label still names a.
		if held := k.take(at, b, &a, false, all); held != nil {
			t.Errorf("b is told of %v", held)
		}
	})
	t.Run("who is gone has nothing", func(t *testing.T) {
		k := fresh()
		k.take(at, a, nil, false, all)
		if held := k.take(at, b, nil, false, none); held != nil {
			t.Errorf("b is told of %v", held)
		}
	})
	t.Run("force takes, and is not answered by force", func(t *testing.T) {
		k := fresh()
		k.take(at, a, nil, true, all)
		if k.take(at, b, nil, true, all) != nil {
			t.Error("b could not take it")
		}
		if held := k.take(at, a, nil, true, all); held == nil || *held != b {
			t.Error("a robbed back")
		}
		if k.take(at, c, nil, true, all) != nil {
			t.Error("a third one could not take it")
		}
	})
	t.Run("who goes leaves all that it has to those who wait", func(t *testing.T) {
		k := fresh()
		k.take(at, a, nil, false, all)
		k.take(at, b, nil, false, all)
		if heirs := k.forget(a, true, nil); !slices.Equal(heirs, []Owner{b}) {
			t.Errorf("the heirs are %v", heirs)
		}
		k.take(at, b, nil, false, all)
		if k.forget(b, true, nil); len(k.book) != 0 {
			t.Errorf("the book has %v", k.book)
		}
	})
	t.Run("of two at the same moment one has it", func(t *testing.T) {
		k := fresh()
		var both sync.WaitGroup
		var held [2]*Owner
		for i, o := range []Owner{a, b} {
			both.Go(func() { held[i] = k.take(at, o, nil, false, all) })
		}
		if both.Wait(); (held[0] == nil) == (held[1] == nil) {
			t.Errorf("they are told of %v", held)
		}
	})
}
