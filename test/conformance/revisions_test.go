// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var more = program{"more.tf": `resource "terraform_data" "more" {}`}

var newRevisions = []behaviour{
	// Upstream: an applied stack is planned again when its source has a new revision, and waits for
	// approval.
	{"000100_applied_to_planned", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "approvePlan: %s", firstPlan)
		// An approval in advance does not count: the plan gets another id, which needs approval.
		planned := w.await("hello", "its plan waits", func(o *infrav1.Terraform) bool { return settled(o) && o.Status.Plan.Pending != "" })
		w.edit("hello", "approvePlan: %s", planned.Status.Plan.Pending)
		w.await("hello", "it is applied", applied(planned.Status.Plan.Pending))
		w.git(second, greeter.and(more))
		s := w.await("hello", "the new plan waits", pending(secondPlan))
		same(w, "revisions", []string{first, second, second},
			[]string{s.Status.LastAppliedRevision, s.Status.LastPlannedRevision, s.Status.LastAttemptedRevision})
		same(w, "last applied", planned.Status.Plan.Pending, s.Status.Plan.LastApplied)
	}},
	// Upstream: with automatic approval, it is applied.
	{"000110_auto_applied_to_applied", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it is applied", applied(firstPlan))
		w.git(second, greeter.and(more))
		s := w.await("hello", "the new revision is applied", applied(secondPlan))
		same(w, "revisions", []string{second, second, second},
			[]string{s.Status.LastAppliedRevision, s.Status.LastPlannedRevision, s.Status.LastAttemptedRevision})
	}},
	// Upstream: a new revision without changes is planned and not applied.
	{"000160_unrelated_source_change", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it is applied", applied(firstPlan))
		w.git(second, greeter.and(program{"README.md": "Now with a description."}))
		s := w.await("hello", "the new revision is planned", func(o *infrav1.Terraform) bool {
			return ready(o) && o.Status.LastPlannedRevision == second
		})
		same(w, "Plan", "False TerraformPlannedNoChanges: Plan no changes", told(s, "Plan"))
		same(w, "Ready", "True TerraformPlannedNoChanges: Plan no changes: "+second, told(s, "Ready"))
		same(w, "last applied, pending", []string{firstPlan, ""}, []string{s.Status.Plan.LastApplied, s.Status.Plan.Pending})
		same(w, "revisions", []string{first, second}, []string{s.Status.LastAppliedRevision, s.Status.LastAttemptedRevision})
	}},
	// Upstream: a failed apply discards its plan; the fixed program is planned and applied.
	{"000170_apply_error_starts_over", func(w *world) {
		w.git(first, fragile)
		w.stack("hello", "{approvePlan: auto, retryInterval: 1h, vars: [{name: command, value: 'echo out of order >&2; exit 1'}]}")
		s := w.await("hello", "its apply has failed", failed("TFExecApplyFailed"))
		mentions(w, "Ready", told(s, "Ready"), "out of order")
		if c := conditionOf(s, "Apply"); c.Status != "False" || c.Reason != "TerraformAppliedFail" {
			w.Errorf("Apply is %s", told(s, "Apply"))
		}
		same(w, "pending", "", s.Status.Plan.Pending)
		same(w, "failures", 1, s.Status.ReconciliationFailures)
		sound := w.state("tfstate-default-hello").id("terraform_data.sound")
		w.edit("hello", "vars: [{name: command, value: 'true'}]")
		s = w.await("hello", "it is fixed", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision == first })
		same(w, "failures", 0, s.Status.ReconciliationFailures)
		same(w, "what the failed apply made", sound, w.state("tfstate-default-hello").id("terraform_data.sound"))
	}},
	// Upstream: a failed plan reports its error, and is retried after retryInterval.
	{"plan_error_is_retried", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "thing" {}
			data "terraform_remote_state" "thing" {
			  backend = "http"
			  config  = { address = var.thing }
			}
			output "thing" { value = data.terraform_remote_state.thing.outputs.value }`})
		v := w.thing("thing", "")
		v.fail(true)
		w.stack("hello", "{approvePlan: auto, vars: [{name: thing, value: '%s'}]}", v.url)
		w.await("hello", "its plan has failed twice", func(o *infrav1.Terraform) bool {
			return failed("TFExecPlanFailed")(o) && o.Status.ReconciliationFailures >= 2
		})
		v.fail(false)
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Upstream: targets restrict a plan, including one that destroys.
	{"000300_targets", func(w *world) {
		w.git(first, greeter.and(more))
		w.stack("hello", "{approvePlan: auto, targets: [terraform_data.more]}")
		w.await("hello", "it is applied", applied(firstPlan))
		same(w, "resources", []string{"terraform_data.more"}, w.state("tfstate-default-hello").addresses())
		w.edit("hello", "targets: null")
		w.await("hello", "the rest is applied", func(o *infrav1.Terraform) bool {
			return ready(o) && o.Status.Plan.LastApplied == firstPlan+"-2"
		})
		same(w, "resources", []string{"terraform_data.greeting", "terraform_data.more"}, w.state("tfstate-default-hello").addresses())
		w.edit("hello", "{targets: [terraform_data.more], destroy: true}")
		w.await("hello", "the target is destroyed", func(o *infrav1.Terraform) bool {
			return ready(o) && o.Status.Plan.IsDestroyPlan && o.Status.Plan.LastApplied != firstPlan+"-2"
		})
		same(w, "resources", []string{"terraform_data.greeting"}, w.state("tfstate-default-hello").addresses())
	}},
	// Upstream: targets also restrict what a deletion destroys.
	{"000300_targets_of_a_deletion", func(w *world) {
		w.git(first, greeter.and(more))
		w.stack("hello", "{approvePlan: auto, destroyResourcesOnDeletion: true}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "targets: [terraform_data.more]")
		w.await("hello", "its target is up to date", ready)
		w.deleteStack("hello")
		w.awaitGone("hello")
		same(w, "resources", []string{"terraform_data.greeting"}, w.state("tfstate-default-hello").addresses())
	}},
	// Upstream: plans without a lock (000362), limited parallelism, refresh before the apply.
	{"000362_options_of_plan_and_apply", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, plan: {lock: false}, parallelism: 1, refreshBeforeApply: true, upgradeOnInit: false}")
		w.await("hello", "it is applied", applied(firstPlan))
	}},
}
