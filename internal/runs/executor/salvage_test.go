// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// knownOf is what a stack's status knows of an interrupted run whose record is damaged.
func knownOf(rec run.Record) run.Record {
	return run.Record{State: rec.State, Spec: run.Spec{ID: rec.Spec.ID, Stack: rec.Spec.Stack, Backend: rec.Spec.Backend, Operation: run.OperationPlanAndApply},
		Result: &run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true}}
}

func TestWhatIsLeftOfARunWithoutItsRecordIsListed(t *testing.T) {
	h := newHome(t)
	rec := h.record("r1")
	rec.Spec.Limits.LogBytes = 1 << 20
	h.permitted(rec, nil)
	h.tell("r1", `{"@message":"x","type":"planned_change","change":{"resource":{"addr":"a.x"},"action":"create"}}`,
		`{"@message":"x","type":"apply_start","hook":{"resource":{"addr":"a.x"},"action":"create"}}`)
	h.start()
	h.spoil("r1", run.BlobRecord)
	if _, err := h.exec.Record(t.Context(), h.stack, "r1"); !errors.Is(err, run.ErrDamaged) {
		t.Fatal(err)
	}
	if got := h.listed(10); !slices.Contains(got, "r0") || !slices.Contains(got, "r1") {
		t.Errorf("one damaged record hides others: %v", got)
	}
	known := knownOf(rec)
	if _, err := h.exec.Salvage(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.x: may exist, and no state has it"}, h.unproven("r1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var log bytes.Buffer
	if err := h.exec.WriteLog(t.Context(), h.stack, "r1", false, &log); err != nil || !strings.Contains(log.String(), "apply_start") || !strings.Contains(log.String(), "may exist") {
		t.Errorf("the log (%v):\n%s", err, log.String())
	}
	known.Spec.ID = "nothing-left"
	if _, err := h.exec.Salvage(t.Context(), known); err != nil || h.stored("nothing-left").Result.UnprovenNote == "" {
		t.Errorf("%v", err)
	}
}

// A run whose record was lost did begin if its log is here, live or kept.
func TestARunWithALogDidBegin(t *testing.T) {
	for sentence, over := range map[string]bool{"while it ran": false, "after it had ended": true} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			rec := h.record("r1")
			rec.Spec.Limits.LogBytes = 1 << 20
			h.permitted(rec, nil)
			h.tell("r1", `{"@message":"x","type":"apply_start","hook":{"resource":{"addr":"a.x"},"action":"create"}}`)
			if over {
				h.gone()
				h.exec.Recorded(h.stack, "r1")
			}
			h.start()
			if err := h.blobs.Delete(t.Context(), rec.Key(run.BlobRecord)); err != nil {
				t.Fatal(err)
			}
			if _, err := h.exec.Resume(t.Context(), h.stack, "r1"); !errors.Is(err, run.ErrDamaged) {
				t.Errorf("resumed: %v", err)
			}
			if _, err := h.exec.Resume(t.Context(), h.stack, "r2"); !errors.Is(err, run.ErrNotFound) {
				t.Errorf("a run that never began: %v", err)
			}
		})
	}
}

// The run was over and its log was kept when its record was damaged: the log stays as it is, and
// tells what was begun.
func TestAKeptLogOutlivesItsRecord(t *testing.T) {
	for sentence, lines := range map[string]int{"as it is": 1, "compressed": 2000} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			rec := h.record("r1")
			rec.Spec.Limits.LogBytes = 1 << 20
			h.permitted(rec, nil)
			told := []string{`{"@message":"x","type":"planned_change","change":{"resource":{"addr":"a.x"},"action":"create"}}`}
			for range lines {
				told = append(told, `{"@message":"x","type":"apply_start","hook":{"resource":{"addr":"a.x"},"action":"create"}}`)
			}
			h.tell("r1", told...)
			h.gone()
			h.exec.Recorded(h.stack, "r1")
			var before bytes.Buffer
			if err := h.exec.WriteLog(t.Context(), h.stack, "r1", false, &before); err != nil {
				t.Fatal(err)
			}
			h.spoil("r1", run.BlobRecord)
			known := knownOf(rec)
			if _, err := h.exec.Salvage(t.Context(), known); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a.x: may exist, and no state has it"}, h.unproven("r1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var log bytes.Buffer
			if err := h.exec.WriteLog(t.Context(), h.stack, "r1", false, &log); err != nil || log.String() != before.String() {
				t.Errorf("the log (%v):\n%s\nwas\n%s", err, log.String(), before.String())
			}
			h.spoil("r1", run.BlobLog)
			if _, err := h.exec.Salvage(t.Context(), known); err != nil || h.stored("r1").Result.UnprovenNote == "" {
				t.Errorf("a damaged log: %v", err)
			}
		})
	}
}

// Nobody knows the secrets of a run without a record: what only a state tells stays out of its
// list.
func TestAListWithoutARecordNamesNothingOfStates(t *testing.T) {
	h := newHome(t)
	h.permitted(h.record("r1"), nil)
	h.start()
	known := knownOf(h.record("r1"))
	known.Result.Plan = fated()
	if _, err := h.exec.Salvage(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(h.stored("r1").Result.Unproven); bytes.Contains(text, []byte("id-")) || !bytes.Contains(text, []byte("a.d")) {
		t.Errorf("%s", text)
	}
}

// Evidence that stays out of reach does not keep a stack whose record is lost from going on for
// ever.
func TestARunWithoutARecordWaitsForItsEvidenceForSomeTime(t *testing.T) {
	h := newHome(t)
	h.permitted(h.record("r1"), fated())
	h.exec, h.readPatience = nil, 20*time.Millisecond
	h.start()
	h.faults.set("read", true)
	known := run.Record{State: h.record("r1").State, Spec: run.Spec{ID: "r1", Stack: h.stack, Backend: run.Backend{Kind: run.BackendManaged},
		Operation: run.OperationPlanAndApply}, Result: &run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true, Plan: fated()}}
	begun := time.Now()
	if _, err := h.exec.Salvage(t.Context(), known); err == nil && time.Since(begun) < h.readPatience {
		t.Error("it does not wait at all")
	}
	for {
		_, err := h.exec.Salvage(t.Context(), known)
		if err == nil {
			break
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("it waits for ever: %v", err)
		}
	}
	if got := h.unproven("r1"); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "Not all evidence could be read") {
		t.Errorf("%q", got)
	}
}
