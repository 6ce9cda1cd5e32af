// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

func TestReadyNamesWhatAWaitingRunWaitsFor(t *testing.T) {
	const trigger, other = "Planning generation 3", "Something else"
	waits := run.WaitsForRunner + "team/vpc"
	for sentence, test := range map[string]struct{ before, waits, want string }{
		"it waits":                    {trigger, waits, waits},
		"it waits for something else": {run.WaitsForRunner + "team/db", waits, waits},
		"it no longer waits":          {waits, "", trigger},
		"it never waited":             {other, "", other},
		"the API refuses its state":   {trigger, run.WaitsForState + "exceeded quota", run.WaitsForState + "exceeded quota"},
		"the API accepts its state":   {run.WaitsForState + "exceeded quota", "", trigger},
		"the API refuses the state of an unannounced drift check": {"", run.WaitsForState + "exceeded quota", run.WaitsForState + "exceeded quota"},
		"an unannounced drift check":                              {"", waits, ""},
	} {
		p := passOver(stackObject())
		p.inHand = &run.Record{Trigger: trigger, Waits: test.waits}
		if test.before != "" {
			setCondition(p.obj, infrav1.ConditionReconciling, metav1.ConditionTrue, infrav1.ReasonProgressing, test.before)
		}
		p.describeAs(decide.Decision{Verb: decide.VerbAwaitRun})
		if got := conditions.Of(p.obj, infrav1.ConditionReconciling).Message; got != test.want {
			t.Errorf("%s: %q, want %q", sentence, got, test.want)
		}
		if ready := conditions.Of(p.obj, infrav1.ConditionReady).Message; strings.HasPrefix(test.waits, run.WaitsForState) != (ready != "" && ready == test.waits) {
			t.Errorf("%s: Ready says %q", sentence, ready)
		}
	}
}

// A manual operation does not change whether the stack is applied.
func TestWaitingManualRunsKeepReady(t *testing.T) {
	p := passOver(stackObject())
	p.inHand = &run.Record{Waits: run.WaitsForState + "exceeded quota", Spec: run.Spec{Operation: run.OperationState}}
	before := conditions.Of(p.obj, infrav1.ConditionReady)
	describeAwaited(&p.gathered)
	if got := conditions.Of(p.obj, infrav1.ConditionReady); got != before {
		t.Errorf("Ready says %q", got.Message)
	}
	if got := conditions.Of(p.obj, infrav1.ConditionReconciling); got.Message != p.inHand.Waits {
		t.Errorf("Reconciling says %q", got.Message)
	}
}
