// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var deletions = []behaviour{
	// Upstream: a deleted object's outputs Secret is deleted; its resources and their state stay.
	{"000120_delete", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.deleteStack("hello")
		w.awaitGone("hello")
		w.awaitNothing(&corev1.Secret{}, "out")
		same(w, "resources", []string{"terraform_data.greeting"}, w.state("tfstate-default-hello").addresses())
	}},
	// Upstream: with destroyResourcesOnDeletion the resources are destroyed first, without
	// approval.
	{"000121_destroy_on_delete", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{destroyResourcesOnDeletion: true, writeOutputsToSecret: {name: out}}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
		w.deleteStack("hello")
		w.awaitGone("hello")
		w.awaitNothing(&corev1.Secret{}, "out")
		same(w, "resources", 0, len(w.state("tfstate-default-hello").addresses()))
	}},
	// Upstream: destroy makes a plan that destroys and is applied like any other, under the same id
	// as the first plan. Fixed: it is another plan and has another id.
	{"000130_destroy", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "destroy: true")
		s := w.await("hello", "it is destroyed", func(o *infrav1.Terraform) bool {
			return ready(o) && o.Status.Plan.IsDestroyPlan && o.Status.Plan.LastApplied == firstPlan+"-2"
		})
		same(w, "Apply", "True TerraformAppliedSucceed: Destroy applied successfully", told(s, "Apply"))
		w.awaitEvent("hello", "TerraformDestroySucceed: Destroy applied successfully")
		same(w, "resources", 0, len(w.state("tfstate-default-hello").addresses()))
		w.deleteStack("hello")
		w.awaitGone("hello")
	}},
	// Upstream: destroy waits for approval.
	{"000130_destroy_is_approved", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "{approvePlan: '', destroy: true}")
		s := w.await("hello", "the plan that destroys waits", pending(firstPlan+"-2"))
		same(w, "it destroys", true, s.Status.Plan.IsDestroyPlan)
		same(w, "resources", []string{"terraform_data.greeting"}, w.state("tfstate-default-hello").addresses())
		w.edit("hello", "approvePlan: %s-2", firstPlan)
		w.await("hello", "it is destroyed", applied(firstPlan+"-2"))
		same(w, "resources", 0, len(w.state("tfstate-default-hello").addresses()))
	}},
	// Upstream: an object whose resources are already destroyed can be deleted.
	{"000131_destroy_no_changes", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, destroy: true, destroyResourcesOnDeletion: true}")
		s := w.await("hello", "there is nothing to destroy", ready)
		same(w, "Plan", "False TerraformPlannedNoChanges: No objects need to be destroyed", told(s, "Plan"))
		w.deleteStack("hello")
		w.awaitGone("hello")
	}},
	// Upstream: suspension also blocks deletion.
	{"suspension_stops_deletion", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, destroyResourcesOnDeletion: true}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "suspend: true")
		w.deleteStack("hello")
		// Another stack that is created later is applied: the first one had enough time.
		w.stack("later", "approvePlan: auto")
		w.await("later", "it is applied", applied(firstPlan))
		same(w, "resources", []string{"terraform_data.greeting"}, w.state("tfstate-default-hello").addresses())
		w.edit("hello", "suspend: false")
		w.awaitGone("hello")
	}},
	// Upstream: suspension also blocks a deletion that keeps the resources.
	{"suspension_stops_deletion_that_keeps", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "suspend: true")
		w.deleteStack("hello")
		s := w.await("hello", "it says why it stays", func(o *infrav1.Terraform) bool {
			return !o.DeletionTimestamp.IsZero() && strings.HasPrefix(told(o, "Ready"), "False Suspended: ")
		})
		same(w, "finalizers", []string{infrav1.Finalizer}, s.Finalizers)
		w.edit("hello", "suspend: false")
		w.awaitGone("hello")
	}},
}
