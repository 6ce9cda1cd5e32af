// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// conditionOf is a stack's condition; empty when it has none of the type.
func conditionOf(o *infrav1.Terraform, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(o.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// told is what a condition says: "True TerraformAppliedSucceed: Applied successfully"; empty when there is none.
func told(o *infrav1.Terraform, kind string) string {
	c := conditionOf(o, kind)
	if c.Type == "" {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// conditions are all that a stack's conditions say.
func conditions(o *infrav1.Terraform) map[string]string {
	all := map[string]string{}
	for _, c := range o.Status.Conditions {
		all[c.Type] = told(o, c.Type)
	}
	return all
}

// tells waits for a condition that says the text.
func tells(kind, text string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return current(o) && told(o, kind) == text }
}

// current means that the status speaks of the object as it is.
func current(o *infrav1.Terraform) bool { return o.Status.ObservedGeneration == o.Generation }

// settled means that the status speaks of the object as it is and that no run is in hand.
func settled(o *infrav1.Terraform) bool { return current(o) && o.Status.CurrentRun == nil }

func ready(o *infrav1.Terraform) bool {
	return settled(o) && conditionOf(o, infrav1.ConditionReady).Status == metav1.ConditionTrue
}

// pending waits for the plan of the id.
func pending(id string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return settled(o) && o.Status.Plan.Pending == id }
}

// applied waits until the plan of the id is applied and its outputs are written.
func applied(id string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.LastApplied == id }
}

// failed waits until Ready is False for the reason.
func failed(reason string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		c := conditionOf(o, infrav1.ConditionReady)
		return settled(o) && c.Status == metav1.ConditionFalse && c.Reason == reason
	}
}

// handled waits until a request for a pass is served and nothing is in hand any more.
func handled(request string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return settled(o) && o.Status.LastHandledReconcileAt == request }
}

// both waits until both are true.
func both(a, b func(*infrav1.Terraform) bool) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return a(o) && b(o) }
}

// same reports the difference between what is wanted and what is there.
func same[T any](w *world, what string, want, got T) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// mentions reports words that a text should have and has not.
func mentions(w *world, what, text string, words ...string) {
	w.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.Errorf("%s does not mention %q:\n%s", what, word, text)
		}
	}
}
