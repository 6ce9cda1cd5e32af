// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"slices"
	"sync"
	"testing"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

func TestClaims(t *testing.T) {
	a, b, c := owned.Owner{Namespace: "n", Name: "a"}, owned.Owner{Namespace: "n", Name: "b"}, owned.Owner{Namespace: "n", Name: "c"}
	at := Place{ID: owned.ID{Name: "object"}}
	all := func(owned.Owner) bool { return true }
	none := func(owned.Owner) bool { return false }

	t.Run("who comes first has it", func(t *testing.T) {
		k := New()
		for range 2 {
			if k.Take(at, a, Bid{Exists: all}) != nil {
				t.Error("a does not have it")
			}
		}
		if held := k.Take(at, b, Bid{Exists: all}); held == nil || *held != a {
			t.Errorf("b is told of %v", held)
		}
	})
	t.Run("who is named by the object has it, until he lets go", func(t *testing.T) {
		k := New()
		if held := k.Take(at, b, Bid{Labelled: &a, Exists: all}); held == nil || *held != a {
			t.Errorf("b is told of %v", held)
		}
		if k.Take(at, a, Bid{Exists: all}) != nil {
			t.Error("a does not have it")
		}
		if heirs := k.Release(at, a); !slices.Equal(heirs, []owned.Owner{b}) {
			t.Errorf("the heirs are %v", heirs)
		}
		// The object's label still names a.
		if held := k.Take(at, b, Bid{Labelled: &a, Exists: all}); held != nil {
			t.Errorf("b is told of %v", held)
		}
	})
	t.Run("who is gone has nothing", func(t *testing.T) {
		k := New()
		k.Take(at, a, Bid{Exists: all})
		if held := k.Take(at, b, Bid{Exists: none}); held != nil {
			t.Errorf("b is told of %v", held)
		}
	})
	t.Run("force takes, and is not answered by force", func(t *testing.T) {
		k := New()
		k.Take(at, a, Bid{Force: Once, Exists: all})
		if k.Take(at, b, Bid{Force: Once, Exists: all}) != nil {
			t.Error("b could not take it")
		}
		if held := k.Take(at, a, Bid{Force: Once, Exists: all}); held == nil || *held != b {
			t.Error("a robbed back")
		}
		if k.Take(at, c, Bid{Force: Once, Exists: all}) != nil {
			t.Error("a third one could not take it")
		}
	})
	t.Run("who goes leaves all that it has to those who wait", func(t *testing.T) {
		k := New()
		k.Take(at, a, Bid{Exists: all})
		k.Take(at, b, Bid{Exists: all})
		if heirs := k.Forget(a); !slices.Equal(heirs, []owned.Owner{b}) {
			t.Errorf("the heirs are %v", heirs)
		}
		k.Take(at, b, Bid{Exists: all})
		if k.Forget(b); len(k.claims) != 0 || len(k.of) != 0 {
			t.Errorf("the book has %v and %v", k.claims, k.of)
		}
	})
	t.Run("who insists takes it each time", func(t *testing.T) {
		k := New()
		for _, o := range []owned.Owner{a, b, a, b} {
			if k.Take(at, o, Bid{Force: Always, Exists: all}) != nil || !k.Free(at, o) {
				t.Errorf("%s could not take it", o.Name)
			}
		}
		if k.Free(at, a) || len(k.of) != 1 {
			t.Errorf("a still has it: %v", k.of)
		}
	})
	t.Run("who keeps some gives up the others, and stops waiting for them", func(t *testing.T) {
		k, other := New(), Place{ID: owned.ID{Name: "other"}}
		k.Take(at, a, Bid{Exists: all})
		k.Take(other, a, Bid{Exists: all})
		k.Take(other, b, Bid{Exists: all})
		if heirs := k.Keep(a, func(p Place) bool { return p == at }); !slices.Equal(heirs, []owned.Owner{b}) || !k.Free(other, b) || k.Free(at, b) {
			t.Errorf("the heirs are %v", heirs)
		}
		k.Take(at, b, Bid{Exists: all})
		k.Take(other, b, Bid{Exists: all})
		if k.Want(b, func(Place) bool { return false }); len(k.Heirs(at, a)) != 0 || k.Free(other, a) {
			t.Errorf("the heirs of a are %v, and b has kept %v", k.Heirs(at, a), k.of[b])
		}
		k.Forget(a)
		if k.Forget(b); len(k.claims) != 0 || len(k.of) != 0 {
			t.Errorf("the book has %v and %v", k.claims, k.of)
		}
	})
	t.Run("of two at the same moment one has it", func(t *testing.T) {
		k := New()
		var both sync.WaitGroup
		var held [2]*owned.Owner
		for i, o := range []owned.Owner{a, b} {
			both.Go(func() { held[i] = k.Take(at, o, Bid{Exists: all}) })
		}
		if both.Wait(); (held[0] == nil) == (held[1] == nil) {
			t.Errorf("they are told of %v", held)
		}
	})
}
