// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// The runner may have missed the plan of an apply that it takes over.
func TestAStateIsWithheldOnlyIfThePlanFoundNothing(t *testing.T) {
	end := &plan.Stream{}
	end.Feed([]byte(`{"@level":"info","@message":"Apply complete!","changes":{"add":3,"operation":"apply"},"type":"change_summary"}`))
	if (&follower{of: &supervisor{direct: true}, stream: end}).withholds() {
		t.Error("its state is withheld")
	}
	whole := &plan.Stream{}
	whole.Feed([]byte(`{"@level":"info","@message":"Plan: 0 to add","changes":{"add":0,"operation":"plan"},"type":"change_summary"}`))
	if !foundNothing(whole) {
		t.Error("a plan that found nothing is taken for one that did")
	}
	whole.Feed([]byte(`{"@level":"info","@message":"x: Plan to import","change":{"resource":{"addr":"x.y"},"action":"import"},"type":"planned_change"}`))
	if foundNothing(whole) {
		t.Error("what is imported is nothing")
	}
}
