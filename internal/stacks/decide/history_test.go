// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestEachApplyHasItsOwnApproval plays long random histories of a manual stack: approvals,
// rejections, requests, changes of configuration, infrastructure and state, and runs with any
// result. Every applied plan was approved by its id while pending, and an approval starts at most
// one apply.
func TestEachApplyHasItsOwnApproval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(fresh().with(func(f *Facts) { f.StateKnown, f.Kept = true, true }).facts)
		w.changes = "create"
		w.outcome = drawOutcome(t, succeeds, succeeds, succeeds, failsToPlan, failsBeforeApply, failsToApply, diesInPlan,
			diesInApply, stoppedBeforehand)
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"a step": func(t *rapid.T) {
				shown, approved := w.facts.Pending, w.facts.Stack.Approved
				d, _ := w.step()
				if d.Verb == VerbPlanAndApply {
					t.Fatalf("%s in manual mode", d)
				}
				if d.Verb == VerbApply && (shown == nil || shown.ID != approved || d.Subject != approved) {
					t.Fatalf("%s, but %q is approved", d, approved)
				}
			},
			"time passes": func(t *rapid.T) {
				w.facts.Now = w.facts.Now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "time"))
			},
			"a person approves the pending plan": func(*rapid.T) {
				if p := w.facts.Pending; p != nil {
					w.facts.Stack.Approved = p.ID
				}
			},
			"a person rejects the pending plan": func(*rapid.T) {
				if p := w.facts.Pending; p != nil {
					w.facts.Stack.Rejected = p.ID
				}
			},
			"a person requests a new plan": func(*rapid.T) {
				n++
				w.facts.Stack.Requested = strconv.Itoa(n)
			},
			"the configuration changes": func(t *rapid.T) {
				w.facts.Config = drawConfig(t, "config")
				w.changes = rapid.SampledFrom([]string{"", "create", "destroy"}).Draw(t, "changes")
			},
			"the infrastructure drifts": func(t *rapid.T) {
				w.changes = rapid.SampledFrom([]string{"create", "destroy"}).Draw(t, "changes")
			},
			"somebody writes the state": func(*rapid.T) { w.stateMoves() },
			"": func(t *rapid.T) {
				for id, times := range w.began {
					if times > 1 {
						t.Fatalf("plan %s began to be applied %d times", id, times)
					}
				}
			},
		})
	})
}
