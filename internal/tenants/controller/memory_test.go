// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

func TestOneOfTwoThatBeginTogetherHasAnObject(t *testing.T) {
	b := newBook()
	acme, beta := owned.Owner{Namespace: "shop", Name: "acme-web"}, owned.Owner{Namespace: "shop", Name: "beta-web"}
	at := place{id: owned.ID{GroupKind: configMapKind, Namespace: "shop", Name: "shared"}}
	alive := func(owned.Owner) bool { return true }
	if _, ok := b.claim(acme, at, false, alive); !ok {
		t.Fatal("the first does not get it")
	}
	if holder, ok := b.claim(beta, at, false, alive); ok || holder != acme {
		t.Errorf("the second gets it from %s", holder)
	}
	if _, ok := b.claim(acme, at, false, alive); !ok {
		t.Error("who has it does not get it again")
	}
	if _, ok := b.claim(beta, at, true, alive); !ok {
		t.Error("it cannot be taken by force")
	}
	if holder, ok := b.claim(acme, at, false, alive); ok || holder != beta {
		t.Errorf("who was robbed has it, or %s", holder)
	}
	if _, ok := b.claim(acme, at, false, func(owned.Owner) bool { return false }); !ok {
		t.Error("one that is gone keeps it")
	}
	b.keepClaims(acme, map[place]bool{at: true})
	if _, ok := b.claim(beta, at, false, alive); ok {
		t.Error("what is still wanted was given up")
	}
	if b.free(beta, at) || !b.free(acme, at) {
		t.Error("it is free for others, or not for who has it")
	}
	if freed := b.forget(acme); !slices.Contains(freed, beta) || len(b.waits) != 0 {
		t.Errorf("who has waited for it hears nothing: %v", freed)
	}
	if _, ok := b.claim(beta, at, false, alive); !ok || len(b.claims) != 1 || len(b.held) != 1 {
		t.Errorf("what was given up is not free: %v %v", b.claims, b.held)
	}
}

func TestWhatSomebodyKeepsChangingIsUndoneLessAndLessOften(t *testing.T) {
	var none *quarrel
	if !none.due().IsZero() {
		t.Error("without a quarrel there is a pause")
	}
	q, at := &quarrel{}, time.Unix(1000, 0)
	last := time.Duration(0)
	for i := range 30 {
		q.again(at)
		pause := time.Duration(0)
		if due := q.due(); !due.IsZero() {
			pause = due.Sub(at)
		}
		if (pause == 0) != (i < undoneAtOnce-1) || pause < last || pause > longestRefusal {
			t.Fatalf("after %d times: %s, before that %s", i+1, pause, last)
		}
		last = pause
		at = at.Add(pause)
	}
	q.again(at.Add(time.Hour))
	if !q.due().IsZero() {
		t.Error("an old quarrel is not over")
	}
}

func TestWhoWaitsForATargetGetsItsTurn(t *testing.T) {
	c := &ways{}
	name := func(n string) owned.Owner { return owned.Owner{Namespace: "shop", Name: n} }
	for range maxAway {
		if !c.enter(name("slow")) {
			t.Fatal("there is no room")
		}
	}
	for _, n := range []string{"a", "b", "a", "c"} {
		if c.enter(name(n)) {
			t.Fatal("there is room for one more")
		}
	}
	if next := c.exit(); len(next) != 1 || next[0] != name("a") {
		t.Errorf("it is the turn of %v", next)
	}
	// Whose turn it is may not want it any more: then it is the next one's.
	if next := c.yield(name("a")); len(next) != 1 || next[0] != name("b") {
		t.Errorf("it is the turn of %v", next)
	}
	if !c.enter(name("b")) || c.enter(name("d")) {
		t.Error("the wrong one has got in")
	}
}

// Between the moment when a tenant is called and its pass, others ask: they must not take its place, nor send it back to the end.
func TestNobodyTakesThePlaceOfATenantThatWasCalled(t *testing.T) {
	c := &ways{}
	name := func(n string) owned.Owner { return owned.Owner{Namespace: "shop", Name: n} }
	for range maxAway {
		c.enter(name("slow"))
	}
	c.enter(name("first"))
	c.enter(name("second"))
	if next := c.exit(); len(next) != 1 || next[0] != name("first") {
		t.Fatalf("it is the turn of %v", next)
	}
	if c.enter(name("newcomer")) {
		t.Error("a newcomer has got in before those that wait")
	}
	if !c.enter(name("first")) {
		t.Error("the one that was called does not get in")
	}
}

// TestLawTargetsAreAskedInTurn: whatever tenants do, they get in in the order in which they began to wait, and no place stays empty.
func TestLawTargetsAreAskedInTurn(t *testing.T) {
	for seed := range int64(200) {
		random := rand.New(rand.NewSource(seed))
		c, inside := &ways{}, map[owned.Owner]int{}
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
			case inside[o] > 0: // a pass over the same tenant is not made twice at a time
				delete(inside, o)
				woken = append(woken, c.exit()...)
			case random.Intn(8) == 0:
				woken = append(woken, c.yield(o)...)
				gone(o)
			case c.enter(o):
				if at := slices.Index(waiting, o); at > 0 && !c.haveCalled(waiting[:at]) || at < 0 && len(waiting) > 0 && !c.haveCalled(waiting) {
					t.Fatalf("seed %d: %s got in before %v", seed, o.Name, waiting)
				}
				gone(o)
				inside[o]++
			case !slices.Contains(waiting, o):
				waiting = append(waiting, o)
			}
			if len(inside) > maxAway {
				t.Fatalf("seed %d: %d are inside", seed, len(inside))
			}
			if len(c.queue) > 0 && len(inside)+len(c.called) < maxAway {
				t.Fatalf("seed %d: %d wait, and there are places", seed, len(c.queue))
			}
		}
	}
}

// haveCalled tells whether all of these have been called, so that their places are kept.
func (c *ways) haveCalled(owners []owned.Owner) bool {
	return !slices.ContainsFunc(owners, func(o owned.Owner) bool { return !c.called[o] })
}

func TestRefusedWritesAreTriedLessAndLessOften(t *testing.T) {
	at := time.Unix(1000, 0)
	last := time.Duration(0)
	for times := 1; times < 100; times++ {
		pause := (&refusal{at: at, times: times}).due().Sub(at)
		if pause < last || pause > longestRefusal || pause < shortestPause {
			t.Fatalf("after %d times: %s, before that %s", times, pause, last)
		}
		last = pause
	}
	if last != longestRefusal {
		t.Errorf("in the end: %s", last)
	}
}

func TestWhoReadsAnObjectHearsOfIt(t *testing.T) {
	b := newBook()
	acme := owned.Owner{Namespace: "shop", Name: "acme-web"}
	one, two := owned.ID{GroupKind: secretKind, Namespace: "shop", Name: "one"}, owned.ID{GroupKind: secretKind, Namespace: "shop", Name: "two"}
	b.look(acme, nil, []owned.ID{one, two})
	if len(b.readersOf(one)) != 1 || len(b.readersOf(two)) != 1 {
		t.Error("it does not hear of what it reads")
	}
	b.look(acme, nil, []owned.ID{two})
	if len(b.readersOf(one)) != 0 || len(b.readersOf(two)) != 1 {
		t.Error("it hears of what it reads no longer")
	}
	b.forget(acme)
	if len(b.readersOf(two)) != 0 || len(b.readers) != 0 || len(b.reads) != 0 {
		t.Error("a tenant that is gone hears of something")
	}
}
