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

// conditionOf is a stack's condition; empty if there is none of the type.
func conditionOf(o *infrav1.Terraform, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(o.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// told is a condition as text: "True TerraformAppliedSucceed: Applied successfully"; empty if there
// is none.
func told(o *infrav1.Terraform, kind string) string {
	c := conditionOf(o, kind)
	if c.Type == "" {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// conditions are all conditions of a stack as text.
func conditions(o *infrav1.Terraform) map[string]string {
	all := map[string]string{}
	for _, c := range o.Status.Conditions {
		all[c.Type] = told(o, c.Type)
	}
	return all
}

// tells waits for a condition with this text.
func tells(kind, text string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return current(o) && told(o, kind) == text }
}

// current means that the status belongs to the current generation.
func current(o *infrav1.Terraform) bool { return o.Status.ObservedGeneration == o.Generation }

// settled means that the status is current and no run is active.
func settled(o *infrav1.Terraform) bool { return current(o) && o.Status.CurrentRun == nil }

func ready(o *infrav1.Terraform) bool {
	return settled(o) && conditionOf(o, infrav1.ConditionReady).Status == metav1.ConditionTrue
}

// pending waits for the plan with the id.
func pending(id string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return settled(o) && o.Status.Plan.Pending == id }
}

// applied waits until the plan with the id is applied and its outputs are written.
func applied(id string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.LastApplied == id }
}

// failed waits until Ready is False with the reason.
func failed(reason string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		c := conditionOf(o, infrav1.ConditionReady)
		return settled(o) && c.Status == metav1.ConditionFalse && c.Reason == reason
	}
}

// handled waits until a requested reconciliation has ended.
func handled(request string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return settled(o) && o.Status.LastHandledReconcileAt == request }
}

// both waits until both are true.
func both(a, b func(*infrav1.Terraform) bool) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool { return a(o) && b(o) }
}

// same reports the difference between the wanted and the actual value.
func same[T any](w *world, what string, want, got T) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// mentions reports missing words in a text.
func mentions(w *world, what, text string, words ...string) {
	w.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.Errorf("%s does not mention %q:\n%s", what, word, text)
		}
	}
}
