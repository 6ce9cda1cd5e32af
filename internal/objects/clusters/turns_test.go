// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

const limit = 4

func TestWaitingOwnersGetTheirTurn(t *testing.T) {
	c := NewTurns(limit)
	name := func(n string) owned.Owner { return owned.Owner{Namespace: "shop", Name: n} }
	for range limit {
		if !c.Enter(name("slow")) {
			t.Fatal("there is no room")
		}
	}
	for _, n := range []string{"a", "b", "a", "c"} {
		if c.Enter(name(n)) {
			t.Fatal("there is room for one more")
		}
	}
	if next := c.Exit(); len(next) != 1 || next[0] != name("a") {
		t.Errorf("it is the turn of %v", next)
	}
	// Whose turn it is may not want it any more: then it is the next one's.
	if next := c.Yield(name("a")); len(next) != 1 || next[0] != name("b") {
		t.Errorf("it is the turn of %v", next)
	}
	if !c.Enter(name("b")) || c.Enter(name("d")) {
		t.Error("the wrong one has got in")
	}
}

// Between the moment when an owner is called and its pass, others ask: they must not take its place, nor send it back to the end.
func TestNobodyTakesThePlaceOfAnOwnerThatWasCalled(t *testing.T) {
	c := NewTurns(limit)
	name := func(n string) owned.Owner { return owned.Owner{Namespace: "shop", Name: n} }
	for range limit {
		c.Enter(name("slow"))
	}
	c.Enter(name("first"))
	c.Enter(name("second"))
	if next := c.Exit(); len(next) != 1 || next[0] != name("first") {
		t.Fatalf("it is the turn of %v", next)
	}
	if c.Enter(name("newcomer")) {
		t.Error("a newcomer has got in before those that wait")
	}
	if !c.Enter(name("first")) {
		t.Error("the one that was called does not get in")
	}
}

// TestLawOwnersEnterInTurn: whatever owners do, they get in in the order in which they began to wait, and no place stays empty.
func TestLawOwnersEnterInTurn(t *testing.T) {
	for seed := range int64(200) {
		random := rand.New(rand.NewSource(seed))
		c, inside := NewTurns(limit), map[owned.Owner]int{}
		var waiting, woken []owned.Owner
		gone := func(o owned.Owner) {
			waiting = slices.DeleteFunc(waiting, func(w owned.Owner) bool { return w == o })
		}
		for range 400 {
			o := owned.Owner{Namespace: "shop", Name: fmt.Sprint(random.Intn(20))}
			if len(woken) > 0 && random.Intn(2) == 0 { // who was called comes sooner or later
				o, woken = woken[0], woken[1:]
			}
			switch {
			case inside[o] > 0: // an owner makes one pass at a time
				delete(inside, o)
				woken = append(woken, c.Exit()...)
			case random.Intn(8) == 0:
				woken = append(woken, c.Yield(o)...)
				gone(o)
			case c.Enter(o):
				if at := slices.Index(waiting, o); at > 0 && !c.haveCalled(waiting[:at]) || at < 0 && len(waiting) > 0 && !c.haveCalled(waiting) {
					t.Fatalf("seed %d: %s got in before %v", seed, o.Name, waiting)
				}
				gone(o)
				inside[o]++
			case !slices.Contains(waiting, o):
				waiting = append(waiting, o)
			}
			if len(inside) > limit {
				t.Fatalf("seed %d: %d are inside", seed, len(inside))
			}
			if len(c.queue) > 0 && len(inside)+len(c.called) < limit {
				t.Fatalf("seed %d: %d wait, and there are places", seed, len(c.queue))
			}
		}
	}
}

// haveCalled tells whether all of these have been called, so that their places are kept.
func (t *Turns) haveCalled(owners []owned.Owner) bool {
	return !slices.ContainsFunc(owners, func(o owned.Owner) bool { return !t.called[o] })
}
