// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func TestWhenAChangeHasBeenSeen(t *testing.T) {
	seenReady := func(status metav1.ConditionStatus, generation int64) func(*infrav1.Terraform) {
		return func(o *infrav1.Terraform) {
			o.Status.ObservedGeneration = 2
			o.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: status, ObservedGeneration: generation}}
		}
	}
	handled := func(o *infrav1.Terraform) { o.Status.LastHandledReconcileAt = "now" }
	current := func(id string) func(*infrav1.Terraform) {
		return func(o *infrav1.Terraform) { o.Status.CurrentRun = &infrav1.RunReference{ID: id} }
	}
	for sentence, test := range map[string]struct {
		request string
		changes []func(*infrav1.Terraform)
		want    bool
	}{
		"nobody has looked yet":                                         {"now", nil, false},
		"the generation was seen and the request was not":               {"now", []func(*infrav1.Terraform){seenReady(metav1.ConditionTrue, 2)}, false},
		"nothing was to be done":                                        {"now", []func(*infrav1.Terraform){seenReady(metav1.ConditionTrue, 2), handled}, true},
		"nothing can be done":                                           {"now", []func(*infrav1.Terraform){seenReady(metav1.ConditionFalse, 2), handled}, true},
		"a run has begun":                                               {"now", []func(*infrav1.Terraform){seenReady(metav1.ConditionUnknown, 2), handled, current("new")}, true},
		"a run has ended already":                                       {"now", []func(*infrav1.Terraform){seenReady(metav1.ConditionTrue, 2), handled, lastRun("new", "succeeded")}, true},
		"a run from before is in hand":                                  {"now", []func(*infrav1.Terraform){seenReady(metav1.ConditionUnknown, 1), current("other")}, false},
		"an approval was seen, and the quiet look at drift is not over": {"", []func(*infrav1.Terraform){seenReady(metav1.ConditionUnknown, 1)}, false},
		"an approval is carried out":                                    {"", []func(*infrav1.Terraform){seenReady(metav1.ConditionUnknown, 2), current("new")}, true},
		"an approval has to wait for a lock":                            {"", []func(*infrav1.Terraform){seenReady(metav1.ConditionFalse, 2)}, true},
		"the stack is suspended":                                        {"now", []func(*infrav1.Terraform){func(o *infrav1.Terraform) { o.Spec.Suspend = true }}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc", Generation: 2}}
			lastRun("old", "succeeded")(obj)
			for _, change := range test.changes {
				change(obj)
			}
			f := follower{Session: &session.Session{App: &session.App{Console: &ui.Console{Err: &bytes.Buffer{}}}}, key: types.NamespacedName{Namespace: "team", Name: "vpc"},
				before: "old", request: test.request, generation: 2}
			if got := f.begun(obj); got != test.want {
				t.Errorf("judged %t, want %t", got, test.want)
			}
		})
	}
}
