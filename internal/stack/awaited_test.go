// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/run"
	"github.com/yuba-dev/yuba/internal/stack/decide"
)

func TestARunThatWaitsSaysForWhat(t *testing.T) {
	const trigger, other = "Planning generation 3", "Something else"
	waits := run.WaitsForRunner + "team/vpc"
	for sentence, test := range map[string]struct{ before, waits, want string }{
		"it waits":                     {trigger, waits, waits},
		"it waits for something else":  {run.WaitsForRunner + "team/db", waits, waits},
		"it waits no longer":           {waits, "", trigger},
		"it never waited":              {other, "", other},
		"a pass that nobody announced": {"", waits, ""},
	} {
		p := &pass{obj: stackObject(), now: finished, inHand: &run.Record{Trigger: trigger, Waits: test.waits}}
		if test.before != "" {
			setCondition(p.obj, infrav1.ConditionReconciling, metav1.ConditionTrue, infrav1.ReasonProgressing, test.before)
		}
		describe(p, decide.Decision{Verb: decide.VerbAwaitRun})
		if got := conditionOf(p.obj, infrav1.ConditionReconciling).Message; got != test.want {
			t.Errorf("%s: %q, want %q", sentence, got, test.want)
		}
	}
}
