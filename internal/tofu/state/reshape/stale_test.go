// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"errors"
	"testing"
	"time"
)

// TestARepairThatListedBeforeARequest: another caller carries a refactoring on, and another run writes its
// states, between the list of the repair and its turn. What that wrote stays.
func TestARepairThatListedBeforeARequest(t *testing.T) {
	w := newWorld(t)
	w.desk.broken = func(step string) error {
		if step == "wrote b" {
			return errKilled
		}
		return nil
	}
	r := w.propose()
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	w.start()
	first := true
	w.desk.broken = func(step string) error {
		if step != "listed" || !first {
			return nil
		}
		first = false
		if open, err := w.desk.Repair(t.Context()); err != nil || open != 0 {
			t.Errorf("%d are open, %v", open, err)
		}
		now, _ := w.read("b")
		w.write("b", document(9, "lb", "x.uno", "x.later"), now.Digest)
		return nil
	}
	const want = "a: x.two; b: x.later x.uno; c: x.drei"
	if open, err := w.desk.Repair(t.Context()); err != nil || open != 0 || w.all() != want {
		t.Errorf("%d are open, %v: %s", open, err, w.all())
	}
	if r, err := w.desk.Get(t.Context(), w.namespace, r.ID); err != nil || r.Phase != Applied {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestACollectionThatListedBeforeARequest: an old proposal is applied between the list and its turn.
func TestACollectionThatListedBeforeARequest(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	w.desk.Now = func() time.Time { return time.Now().Add(proposalLife + time.Hour) }
	w.desk.broken = func(step string) error {
		if step == "listed" {
			if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	if err := w.desk.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := w.desk.Get(t.Context(), w.namespace, r.ID); err != nil || r.Phase != Applied {
		t.Fatalf("%+v, %v", r, err)
	}
	w.desk.broken = nil
	undo, err := w.desk.ProposeUndo(t.Context(), w.namespace, r.ID, "ann", w.stacks("a", "b", "c"))
	if err != nil {
		t.Fatalf("the undo: %v", err)
	}
	w.desk.Now = func() time.Time { return time.Now().Add(2*proposalLife + 2*time.Hour) }
	if err := w.desk.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Get(t.Context(), w.namespace, undo.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("an old proposal: %v", err)
	}
}
