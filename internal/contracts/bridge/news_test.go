// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

func TestEventsOfBridges(t *testing.T) {
	is := func(reason, message string, revision int64) *yubav1.ContractBridge {
		b := &yubav1.ContractBridge{}
		status := metav1.ConditionFalse
		if reason == yubav1.ReasonBridgeSynced {
			status = metav1.ConditionTrue
		}
		conditions.Set(b, infrav1.ConditionReady, status, reason, message)
		b.Status.Document, b.Status.Revision = "ssm /base", revision
		return b
	}
	const synced, conflict, failed, waiting = yubav1.ReasonBridgeSynced, yubav1.ReasonBridgeConflict, yubav1.ReasonBridgeUnreachable, yubav1.ReasonBridgeWaiting
	for sentence, test := range map[string]struct {
		before, after *yubav1.ContractBridge
		outcome       outcome
		want          []string
	}{
		"it waits from the beginning":    {&yubav1.ContractBridge{}, is(waiting, "nothing yet", 0), outcome{}, nil},
		"the first revision":             {is(waiting, "nothing yet", 0), is(synced, "it has 1", 1), outcome{}, []string{"Normal Synced it has 1"}},
		"the next revision":              {is(synced, "it has 1", 1), is(synced, "it has 2", 2), outcome{}, []string{"Normal Synced it has 2"}},
		"nothing to carry":               {is(synced, "it has 2", 2), is(synced, "it has 2", 2), outcome{}, nil},
		"somebody removed the document":  {is(synced, "it has 2", 2), is(synced, "it has 2", 2), outcome{restored: true}, []string{"Normal Synced it has 2"}},
		"somebody changed the document":  {is(synced, "it has 2", 2), is(conflict, "changed", 2), outcome{}, []string{"Warning Conflict changed"}},
		"it is still changed":            {is(conflict, "changed", 2), is(conflict, "changed", 2), outcome{}, nil},
		"it is changed again":            {is(conflict, "changed", 2), is(conflict, "changed again", 2), outcome{}, []string{"Warning Conflict changed again"}},
		"somebody may be overwritten":    {is(conflict, "changed", 2), is(synced, "it has 2", 2), outcome{replaced: "sha256:9f"}, []string{"Normal Replaced Replaced a document of somebody else in ssm /base, as spec.replace allows: sha256:9f", "Normal Recovered it has 2; before it was Conflict"}},
		"the store fails":                {is(synced, "it has 2", 2), is(failed, "no answer", 2), outcome{}, []string{"Warning StoreFailed no answer"}},
		"it still fails, in other words": {is(failed, "no answer", 2), is(failed, "no answer to request 2", 2), outcome{}, nil},
		"the store answers again":        {is(failed, "no answer", 2), is(synced, "it has 2", 2), outcome{}, []string{"Normal Recovered it has 2; before it was StoreFailed"}},
		"the producer is gone":           {is(synced, "it has 2", 2), is(waiting, "no stack", 2), outcome{}, []string{"Normal Waiting no stack"}},
		"it is suspended":                {is(synced, "it has 2", 2), is(yubav1.ReasonBridgeSuspended, "suspended", 2), outcome{}, []string{"Normal Suspended suspended"}},
	} {
		var got []string
		for _, n := range newsOf(test.before, test.after, test.outcome) {
			got = append(got, fmt.Sprint(n.severity, " ", n.reason, " ", n.message))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}
