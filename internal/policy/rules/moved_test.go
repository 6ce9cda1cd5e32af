// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// The tool's own provider can only take over resources of a provider that tests do not have.
func TestAMoveToAnotherTypeLeavesTheTypesOfARule(t *testing.T) {
	d := &facts.Document{Stage: facts.StagePlan, Plan: &facts.Plan{}, Changes: []facts.Change{
		{Address: `module.m["k"].terraform_data.a`, Type: "terraform_data", Mode: "managed", Previous: `module.m["x].y.z"].null_resource.a["b.c"]`, Action: facts.ActionNoOp},
	}}
	for rule, want := range map[string]string{
		`no-destroy {"types":["null_resource"]}`:                   `module.m["k"].terraform_data.a`,
		`no-replace {"types":["null_*"]}`:                          `module.m["k"].terraform_data.a`,
		`no-forget {"types":["null_*"]}`:                           `module.m["k"].terraform_data.a`,
		`no-destroy {"types":["null_resource", "terraform_data"]}`: "",
		`no-destroy {"types":["terraform_data"]}`:                  "",
		`no-destroy {"types":["aws_*"]}`:                           "",
		`no-destroy`:                                               "",
	} {
		if got := found(t, rule, d, monday); got != want {
			t.Errorf("%s: %q", rule, got)
		}
	}
}
