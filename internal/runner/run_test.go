// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/run"
)

const twoThings = `
resource "terraform_data" "a" { input = "one" }
resource "terraform_data" "b" { input = terraform_data.a.id }
output "o" { value = terraform_data.a.output }
`

func TestPlanAndApply(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("two", run.OperationPlanAndApply, map[string]string{"main.tf": twoThings})
	result := b.succeed(r)
	if diff := cmp.Diff(&run.Counts{Add: 2}, result.AppliedCounts); diff != "" || !result.Applied || !result.ApplyStarted {
		t.Errorf("applied %v: %s", result.Applied, diff)
	}
	if result.Plan == nil || !result.Plan.Changes || result.Plan.Counts.Add != 2 || result.Plan.Digest == "" {
		t.Errorf("plan %+v", result.Plan)
	}
	if len(r.states) != 1 || !strings.Contains(string(r.states[0]), `"terraform_data"`) || result.StateDigest != digestOf(r.states[0]) {
		t.Errorf("%d states", len(r.states))
	}
	if len(r.asked) != 1 || r.asked[0].Plan == nil || r.asked[0].Plan.Digest != result.Plan.Digest {
		t.Errorf("asked %+v", r.asked)
	}
	if r.savedPlan != nil || !result.Confined || result.ToolVersion == "" {
		t.Errorf("plan of %d bytes shipped, confined %v, tool %s", len(r.savedPlan), result.Confined, result.ToolVersion)
	}
	if !strings.Contains(string(r.log), "Apply complete!") {
		t.Errorf("log:\n%s", r.log)
	}
}
