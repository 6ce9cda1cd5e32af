// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// queued has three runs wait whose order of arrival is not the one in which they should begin.
func queued(h *home) {
	now := time.Now().UTC()
	for at, r := range []struct {
		id      string
		urgency run.Urgency
	}{{"drift", run.UrgencyDrift}, {"change", run.UrgencyChange}, {"awaited", run.UrgencyAwaited}} {
		h.stack.Name = "stack-" + r.id
		rec := h.record(r.id)
		rec.Urgency, rec.Created = r.urgency, now.Add(time.Duration(at)*time.Second)
		h.begin(rec)
	}
}

func TestWhatPeopleWaitForBeginsFirst(t *testing.T) {
	h := newHome(t)
	queued(h)
	want := []string{"awaited", "change", "drift"}
	var shown, given []string
	for _, p := range h.exec.Queue() {
		shown = append(shown, p.Run.Spec.ID)
	}
	for _, a := range h.poll("one", 3, ghost).Runs {
		given = append(given, a.ID)
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("the queue as it is shown (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("what the runner is given (-want +got):\n%s", diff)
	}
	if left := h.exec.Queue(); len(left) != 0 {
		t.Errorf("%d still wait", len(left))
	}
}

func TestANamespaceHasNoMoreRunsThanItMay(t *testing.T) {
	h := newHome(t)
	h.limit = 2
	queued(h)
	got := h.poll("one", 3, ghost).Runs
	if len(got) != 2 {
		t.Fatalf("given %d runs, want 2", len(got))
	}
	waiting := h.exec.Queue()
	if len(waiting) != 1 || !waiting[0].Full || waiting[0].Run.Spec.ID != "drift" {
		t.Fatalf("waiting are %+v, want drift held up by the limit", waiting)
	}
	if err := h.exec.Cancel(t.Context(), "drift"); err != nil {
		t.Fatal(err)
	}
	if left := h.exec.Queue(); len(left) != 0 {
		t.Errorf("%d wait after the last was canceled", len(left))
	}
}

func TestRunsThatWaitHaveNoFilesOpen(t *testing.T) {
	h := newHome(t)
	queued(h)
	entries, err := os.ReadDir(h.live)
	if err != nil || len(entries) != 0 {
		t.Errorf("%d files: %v", len(entries), err)
	}
}
