// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/owned"
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
	c := &clusters{}
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
