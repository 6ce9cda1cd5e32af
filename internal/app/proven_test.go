// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

func TestOnlyPassesThatSavedARunAreCountedAsSkipped(t *testing.T) {
	for sentence, c := range map[string]struct {
		decision    decide.Decision
		ended, want bool
	}{
		"nothing has changed":           {decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonUpToDate}, false, true},
		"a run has just found the same": {decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonUpToDate}, true, false},
		"it rests for another reason":   {decide.Decision{Verb: decide.VerbRest, Reason: "Suspended"}, false, false},
		"there is something to be done": {decide.Decision{Verb: decide.VerbPlan, Reason: decide.ReasonUpToDate}, false, false},
	} {
		if got := needsNoRun(c.decision, c.ended); got != c.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}
