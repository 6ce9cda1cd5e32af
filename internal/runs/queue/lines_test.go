// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLinesCountWhatWaits(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	q := New(0, nil)
	if lines := q.Lines(); lines != nil {
		t.Errorf("an empty queue has lines: %v", lines)
	}
	q.Add(Item{ID: "3", Group: "b", Class: Drift, Since: at.Add(time.Second)})
	q.Add(Item{ID: "2", Group: "b", Class: Drift, Since: at})
	q.Add(Item{ID: "1", Group: "b", Class: Urgent, Since: at})
	q.Add(Item{ID: "4", Group: "a", Class: Changed, Since: at.Add(time.Minute)})
	q.Running("5", "c", Drift)
	want := []Line{{"a", Changed, 1, at.Add(time.Minute)}, {"b", Urgent, 1, at}, {"b", Drift, 2, at}}
	if diff := cmp.Diff(want, q.Lines()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if it, ok := q.Next(at, ""); !ok || it.ID != "1" {
		t.Fatalf("next is %v", it)
	}
	if diff := cmp.Diff([]Line{want[0], want[2]}, q.Lines()); diff != "" {
		t.Errorf("after one began, -want +got:\n%s", diff)
	}
}
