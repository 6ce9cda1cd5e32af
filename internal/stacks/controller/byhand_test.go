// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Everybody who sees the stack can read its events.
func TestEventsOfManualRuns(t *testing.T) {
	for sentence, test := range map[string]struct {
		change run.StateChange
		result run.Result
		want   string
	}{
		"a change tells its result":         {run.StateChange{Verb: run.StateMove}, run.Result{Outcome: run.OutcomeSucceeded, Text: "Moved"}, "state mv, requested by ann: succeeded. Moved"},
		"a change tells why it failed":      {run.StateChange{Verb: run.StateMove}, run.Result{Outcome: run.OutcomeFailed, Error: "locked"}, "state mv, requested by ann: failed. locked"},
		"a list does not tell what it read": {run.StateChange{Verb: run.StateList}, run.Result{Outcome: run.OutcomeSucceeded, Text: "a.b"}, "state list, requested by ann: succeeded."},
		"a failed read does not quote":      {run.StateChange{Verb: run.StateShow}, run.Result{Outcome: run.OutcomeFailed, Error: "a.b"}, "state show, requested by ann: failed."},
		"nor does a failed console":         {run.StateChange{Verb: run.StateConsole, Preview: true}, run.Result{Outcome: run.OutcomeFailed, Error: "value"}, "console, requested by ann: failed."},
		"a console has no event":            {run.StateChange{Verb: run.StateConsole, Preview: true}, run.Result{Outcome: run.OutcomeSucceeded, Text: "value"}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &collected{pass: pass{obj: &infrav1.Terraform{}}}
			takeByHand(p, run.Record{By: "ann", Spec: run.Spec{Operation: run.OperationState, StateChange: &test.change}, Result: &test.result})
			got := ""
			for _, n := range p.notes {
				got += n.message
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNoRunReleasesTheLockOfAManagedState(t *testing.T) {
	p := &pass{obj: &infrav1.Terraform{}, stack: run.Stack{Namespace: "n", Name: "vpc"}}
	err := (&Reconciler{}).mayOperate(t.Context(), p, run.Request{Operation: run.OperationState, Change: &run.StateChange{Verb: run.StateUnlock, Args: []string{"l1"}}})
	var refused *run.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "yuba force-unlock n/vpc l1") {
		t.Errorf("%v", err)
	}
}
