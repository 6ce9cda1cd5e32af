// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

func TestUrgency(t *testing.T) {
	for _, test := range []struct {
		name string
		d    decide.Decision
		want run.Urgency
	}{
		{"a person requested it", decide.Decision{Reason: decide.ReasonRequested, Purpose: decide.PurposeDeploy}, run.UrgencyAwaited},
		{"a person approved the plan", decide.Decision{Reason: decide.ReasonApproved, Purpose: decide.PurposeDeploy}, run.UrgencyAwaited},
		{"the object is being deleted", decide.Decision{Reason: decide.ReasonDeleting, Purpose: decide.PurposeDelete}, run.UrgencyAwaited},
		{"the first plan", decide.Decision{Reason: decide.ReasonFirstPlan, Purpose: decide.PurposeDeploy}, run.UrgencyChange},
		{"an input changed", decide.Decision{Reason: decide.ReasonConfigChanged, Purpose: decide.PurposeDeploy}, run.UrgencyChange},
		{"drift detection is due", decide.Decision{Reason: decide.ReasonDriftDue, Purpose: decide.PurposeDrift}, run.UrgencyDrift},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := urgencyOf(test.d); got != test.want {
				t.Errorf("urgency %q, want %q", got, test.want)
			}
		})
	}
}
