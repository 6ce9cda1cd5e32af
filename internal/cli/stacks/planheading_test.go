// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func TestPlansSayWhichTheyAre(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	is := func(state plan.State) *plan.Standing {
		return &plan.Standing{State: state, ID: "plan-main-1", Run: "r1", Revision: "main@sha1:0123456789abcdef", Made: now.Add(-time.Hour),
			ApplyRun: "r2", ApplyEnded: now.Add(-time.Minute)}
	}
	nobody := func(s *plan.Standing) *plan.Standing { s.ID = ""; return s }
	for want, test := range map[string]struct {
		change   func(*infrav1.Terraform)
		standing *plan.Standing
	}{
		"": {},
		"Pending plan plan-main-1 of revision main@sha1:0123456789, made 60m ago: it waits for approval": {standing: is(plan.StatePending)},
		"Pending plan plan-main-1 of revision main@sha1:0123456789, made 60m ago: it is never applied (planOnly)": {
			change: func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }, standing: is(plan.StatePending)},
		"Pending plan plan-main-1 of revision main@sha1:0123456789, made 60m ago: it is held for approval by circuit breaker c1": {
			change: func(t *infrav1.Terraform) { t.Status.Plan.HeldBy = "c1" }, standing: is(plan.StatePending)},
		"Approved plan plan-main-1 of revision main@sha1:0123456789, made 60m ago: it is not applied yet":                {standing: is(plan.StateApproved)},
		"Rejected plan plan-main-1 of revision main@sha1:0123456789, made 60m ago":                                       {standing: is(plan.StateRejected)},
		"Applied plan plan-main-1 of revision main@sha1:0123456789, applied 60s ago by run r2":                           {standing: is(plan.StateApplied)},
		"Partly applied plan plan-main-1 of revision main@sha1:0123456789: its apply by run r2 did not succeed, 60s ago": {standing: is(plan.StateApplyFailed)},
		"Refused plan of revision main@sha1:0123456789, made 60m ago by run r1: a webhook refused it":                    {standing: nobody(is(plan.StateRefused))},
		"Superseded plan of revision main@sha1:0123456789, made 60m ago by run r1: it was never applied":                 {standing: nobody(is(plan.StateSuperseded))},
		"No changes: run r1 found no changes for revision main@sha1:0123456789, 60m ago":                                 {standing: is(plan.StateUnchanged)},
		"Pending plan plan-main-1: it waits for approval":                                                                {standing: &plan.Standing{State: plan.StatePending, ID: "plan-main-1", Run: "r1"}},
	} {
		stack := &infrav1.Terraform{Status: infrav1.TerraformStatus{Plan: infrav1.PlanStatus{Pending: "plan-main-1"}}}
		if test.change != nil {
			test.change(stack)
		}
		if got := planHeading(stack, test.standing, now); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
