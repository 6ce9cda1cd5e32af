// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// awaitingApproval is the message of Ready while a plan waits.
func awaitingApproval(id string) string {
	return `TerraformPlannedWithChanges: Plan generated: set approvePlan: "` + id + `" to approve this plan.`
}

var approvals = []behaviour{
	// Upstream: without approval a plan waits, and Ready says how to approve it.
	{"000030_plan_only_no_outputs", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{}")
		s := w.await("hello", "its plan waits", pending(firstPlan))
		same(w, "Ready", "Unknown "+awaitingApproval(firstPlan), told(s, "Ready"))
		same(w, "Plan", "True TerraformPlannedWithChanges: Plan generated", told(s, "Plan"))
		same(w, "last applied", "", s.Status.Plan.LastApplied+s.Status.LastAppliedRevision)
		same(w, "Apply", "", told(s, "Apply"))
	}},
	// Upstream: in plan-only mode nothing is applied, not even automatically.
	{"000044_plan_only_mode", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, planOnly: true}")
		s := w.await("hello", "its plan waits", pending(firstPlan))
		const message = "TerraformPlannedWithChanges: Plan generated: This object is in the plan only mode."
		same(w, "Ready", "Unknown "+message, told(s, "Ready"))
		same(w, "Plan", "True TerraformPlannedWithChanges: Plan generated", told(s, "Plan"))
		// After another reconciliation, still nothing is applied.
		s = w.await("hello", "it was reconciled again", handled(w.request("hello")))
		same(w, "last applied", "", s.Status.Plan.LastApplied+s.Status.LastAppliedRevision)
	}},
	// Upstream: a plan is applied when approvePlan names it.
	{"000050_plan_and_manual_approve", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "approvePlan: %s", firstPlan)
		s := w.await("hello", "it is applied", applied(firstPlan))
		same(w, "pending", "", s.Status.Plan.Pending)
		same(w, "Apply", "True TerraformAppliedSucceed: Applied successfully", told(s, "Apply"))
		same(w, "revision", first, s.Status.LastAppliedRevision)
	}},
	// Upstream: a new revision is planned under another id, which needs its own approval.
	{"000051_plan_and_manual_approve_and_replan", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
		w.git(second, greeter.and(program{"more.tf": `resource "terraform_data" "more" {}`}))
		w.await("hello", "the new plan waits", pending(secondPlan))
		w.edit("hello", "approvePlan: %s", secondPlan)
		w.await("hello", "the new plan is applied", applied(secondPlan))
		same(w, "resources", []string{"terraform_data.greeting", "terraform_data.more"}, w.state("tfstate-default-hello").addresses())
	}},
	// Upstream: an approved plan can be applied although planning created a file that it needs.
	// Here the program names the file by its absolute path, which must be the same during the
	// apply.
	{"000052_plan_and_manual_approve_with_files", func(w *world) {
		w.git(first, program{"note.txt": "a note", "main.tf": `
			resource "terraform_data" "note" {
			  input = { path = abspath("${path.module}/note.txt"), sum = filesha256(abspath("${path.module}/note.txt")) }
			}
			output "sum" { value = terraform_data.note.output.sum }`})
		w.stack("hello", "refreshBeforeApply: true")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "approvePlan: %s", firstPlan)
		s := w.await("hello", "it is applied", applied(firstPlan))
		same(w, "available outputs", []string{"sum"}, s.Status.AvailableOutputs)
	}},
	// Upstream: a pending plan is made again for a new revision.
	{"000053_pending_plan_replans_on_source_change", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.git(second, greeter.and(program{"more.tf": `resource "terraform_data" "more" {}`}))
		s := w.await("hello", "the new plan waits", pending(secondPlan))
		same(w, "planned revision", second, s.Status.LastPlannedRevision)
		// The old id no longer approves anything.
		w.edit("hello", "approvePlan: %s", firstPlan)
		s = w.await("hello", "it says that the id is another", func(o *infrav1.Terraform) bool {
			return settled(o) && strings.Contains(conditionOf(o, "Ready").Message, firstPlan)
		})
		same(w, "last applied", "", s.Status.Plan.LastApplied)
	}},
	// Upstream: a pending plan is made again for a new generation under the same id, so an approval
	// of the first also approves the second. Fixed: a plan with other content has another id.
	{"000054_pending_plan_replans_on_spec_change", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{}")
		before := w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "vars: [{name: subject, value: Moon}]")
		s := w.await("hello", "the new plan waits", pending(firstPlan+"-2"))
		same(w, "planned generation", before.Generation+1, s.Status.LastPlannedGeneration)
		w.edit("hello", "approvePlan: %s-2", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan+"-2"))
	}},
	// Upstream: a change of the object that does not change the plan still plans again, under the
	// same id. Here nothing is planned, and the generation counts as planned.
	{"000054_spec_change_that_keeps_the_plan", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{}")
		before := w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "interval: 2h")
		s := w.await("hello", "the generation is planned", func(o *infrav1.Terraform) bool {
			return pending(firstPlan)(o) && o.Status.LastPlannedGeneration == before.Generation+1
		})
		same(w, "Ready", "Unknown "+awaitingApproval(firstPlan), told(s, "Ready"))
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Upstream: an approval in a new revision applies the plan that it names, and the new revision
	// is planned afterwards. Yuba plans the new revision first; its plan is the same, so it keeps
	// id and approval.
	{"000055_manual_approve_with_approval_commit", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "suspend: true")
		w.git(second, greeter.and(program{"stacks/hello.yaml": "approvePlan: " + firstPlan}))
		w.edit("hello", "{suspend: false, approvePlan: %s}", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
		same(w, "resources", []string{"terraform_data.greeting"}, w.state("tfstate-default-hello").addresses())
	}},
}
