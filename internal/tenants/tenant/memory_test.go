// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

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
		if (pause == 0) != (i < undoneAtOnce-1) || pause < last || pause > passes.LongestRefusal {
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

func TestThoseInterestedInAnObjectAreWoken(t *testing.T) {
	n := newInterests[owned.ID]()
	acme := owned.Owner{Namespace: "shop", Name: "acme-web"}
	one, two := owned.ID{GroupKind: secretKind, Namespace: "shop", Name: "one"}, owned.ID{GroupKind: secretKind, Namespace: "shop", Name: "two"}
	n.set(acme, []owned.ID{one, two})
	if len(n.in(one)) != 1 || len(n.in(two)) != 1 {
		t.Error("a read object does not wake it")
	}
	n.set(acme, []owned.ID{two})
	if len(n.in(one)) != 0 || len(n.in(two)) != 1 {
		t.Error("an object that it no longer reads wakes it")
	}
	n.set(acme, nil)
	if len(n.in(two)) != 0 || len(n.of) != 0 || len(n.by) != 0 {
		t.Error("a deleted tenant is woken")
	}
}
