// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
)

// A plan's id must not approve the plan of another stack of the instance.
func TestThePlanOfOneOfSeveralStacksIsNamed(t *testing.T) {
	for sentence, test := range map[string]struct {
		several        bool
		part, plan     string
		ofPart, ofPlan string
		refused        string
	}{
		"one stack":                         {plan: "plan-1", ofPlan: "plan-1"},
		"several stacks":                    {several: true, plan: "net/plan-1", ofPart: "net", ofPlan: "plan-1"},
		"several stacks, without the part":  {several: true, plan: "plan-1", refused: "several stacks"},
		"several stacks, the part is apart": {several: true, part: "net", plan: "plan-1", ofPart: "net", ofPlan: "plan-1"},
		"an empty part":                     {several: true, plan: "/plan-1", refused: "no id of a plan"},
		"only the part":                     {several: true, plan: "net/", refused: "no id of a plan"},
		"only the part of one stack":        {plan: "net/", refused: "no id of a plan"},
	} {
		t.Run(sentence, func(t *testing.T) {
			part, plan, err := planOf(test.several, test.part, test.plan)
			if part != test.ofPart || plan != test.ofPlan || (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%q %q: %v", part, plan, err)
			}
		})
	}
}
