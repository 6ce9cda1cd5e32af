// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
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
	b.forget(acme)
	if _, ok := b.claim(beta, at, false, alive); !ok || len(b.claims) != 1 || len(b.held) != 1 {
		t.Errorf("what was given up is not free: %v %v", b.claims, b.held)
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
