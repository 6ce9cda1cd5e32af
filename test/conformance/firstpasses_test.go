// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var firstPasses = []behaviour{
	// Upstream: an automatic stack is planned, then applied; its id consists of branch and commit,
	// also in the old format. Upstream keeps the plan in the Secret tfplan-default-NAME; Yuba keeps
	// it in its store, without a Secret.
	{"000010_no_outputs", func(w *world) {
		const revision = "master/b8e362c206e3d0cbb7ed22ced771a0056455a2fb"
		w.git(revision, hello)
		w.stack("hello", "approvePlan: auto")
		s := w.await("hello", "it is applied", applied("plan-master-b8e362c206"))
		same(w, "conditions", map[string]string{
			"Ready":  "True TerraformAppliedSucceed: Applied successfully: " + revision,
			"Plan":   "True TerraformPlannedWithChanges: Plan generated",
			"Apply":  "True TerraformAppliedSucceed: Applied successfully",
			"Output": "True TerraformOutputsAvailable: Outputs available",
		}, conditions(s))
		same(w, "available outputs", []string{"hello_world"}, s.Status.AvailableOutputs)
		same(w, "revisions", []string{revision, revision, revision},
			[]string{s.Status.LastAppliedRevision, s.Status.LastAttemptedRevision, s.Status.LastPlannedRevision})
		if w.exists(&corev1.Secret{}, "tfplan-default-hello") {
			w.Error("the plan is in a Secret")
		}
	}},
	// Upstream: the name of the plan's Secret contains the workspace. Here the name of the state's
	// Secret does, and the program reads the workspace.
	{"000011_workspace_no_outputs", func(w *world) {
		w.git(first, program{"main.tf": `
			output "workspace" { value = terraform.workspace }
			resource "terraform_data" "one" {}`})
		w.stack("hello", "{approvePlan: auto, workspace: dev, writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"workspace": "dev"})
		same(w, "resources", []string{"terraform_data.one"}, w.state("tfstate-dev-hello").addresses())
	}},
	// Upstream: a new object has observedGeneration -1, because it was not reconciled yet.
	{"000016_default_observed_generation", func(w *world) {
		obj := w.manifest("hello", "{}")
		obj.Spec.Suspend = true
		w.create(obj)
		if obj.Status.ObservedGeneration != -1 {
			w.Errorf("observedGeneration is %d in the answer to the create", obj.Status.ObservedGeneration)
		}
	}},
	// Upstream: a reconciliation sets observedGeneration, and lastHandledReconcileAt if it was
	// requested.
	{"000016_finalize_status", func(w *world) {
		w.git(first, hello)
		obj := w.manifest("hello", "{}")
		obj.Annotations = map[string]string{infrav1.AnnotationReconcile: "some time"}
		w.create(obj)
		s := w.await("hello", "its plan waits", pending(firstPlan))
		same(w, "observedGeneration", 1, s.Status.ObservedGeneration)
		same(w, "lastHandledReconcileAt", "some time", s.Status.LastHandledReconcileAt)
		at := w.request("hello")
		w.await("hello", "the second request is handled", handled(at))
	}},
	// Upstream: the state is in the Secret of the kubernetes backend, with the suffix in
	// backendConfig and a Lease as its lock. Its labels are those of the backend and the configured
	// ones (000362).
	{"000020_with_backend", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, backendConfig: {secretSuffix: other, inClusterConfig: true, labels: {team: storage}}}")
		w.await("hello", "it is applied", applied(firstPlan))
		var s corev1.Secret
		if err := w.client.Get(w.Context(), w.key("tfstate-default-other"), &s); err != nil {
			w.Fatal(err)
		}
		same(w, "labels", map[string]string{"tfstate": "true", "tfstateSecretSuffix": "other", "tfstateWorkspace": "default",
			"app.kubernetes.io/managed-by": "terraform", "team": "storage"}, s.Labels)
		same(w, "encoding", "gzip", s.Annotations["encoding"])
		same(w, "owners", 0, len(s.OwnerReferences))
		same(w, "resources", []string{"terraform_data.greeting"}, w.state("tfstate-default-other").addresses())
	}},
	// Upstream: as above, in a workspace.
	{"000020_with_workspace", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, workspace: dev, backendConfig: {secretSuffix: other, inClusterConfig: true}}")
		w.await("hello", "it is applied", applied(firstPlan))
		same(w, "resources", []string{"terraform_data.greeting"}, w.state("tfstate-dev-other").addresses())
		if w.exists(&corev1.Secret{}, "tfstate-default-other") {
			w.Error("a state of workspace default was begun, too")
		}
	}},
	// Upstream, e2e: workspaces have separate states, and a change of labels keeps the state.
	{"state_secret_label_change_keeps_the_state", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, backendConfig: {labels: {team: storage}}}")
		w.await("hello", "it is applied", applied(firstPlan))
		id := w.state("tfstate-default-hello").id("terraform_data.greeting")
		w.git(second, greeter.and(program{"more.tf": `resource "terraform_data" "more" {}`}))
		w.edit("hello", "backendConfig: {labels: {team: network}}")
		w.await("hello", "the new program is applied", applied(secondPlan))
		after := w.state("tfstate-default-hello")
		same(w, "id of the resource", id, after.id("terraform_data.greeting"))
		same(w, "resources", []string{"terraform_data.greeting", "terraform_data.more"}, after.addresses())
	}},
	// Upstream: 000180, a table of scheduled drift checks, and 000190, 000361, unit tests. This
	// case tests how the object is printed: `kubectl get tf` has the columns Ready, Status and Age,
	// and `-o wide` also has the message that was Status upstream, after Yuba's own columns.
	{"print_columns", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it is applied", applied(firstPlan))
		columns, cells := w.table("hello")
		same(w, "columns", "Name Ready Status Age Plan Revision Planned Message", strings.Join(columns, " "))
		same(w, "cells", []any{"hello", "True", "Applied"}, cells[:3])
		same(w, "message", any("Applied successfully: "+first), cells[7])
	}},
}

// table requests a stack as a table, like kubectl, and returns the names of its columns and its
// cells.
func (w *world) table(name string) (columns []string, cells []any) {
	w.Helper()
	c, err := restClient(w.config)
	if err != nil {
		w.Fatal(err)
	}
	data, err := c.Get().Namespace(w.namespace).Resource("terraforms").Name(name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(w.Context()).Raw()
	if err != nil {
		w.Fatal(err)
	}
	var table struct {
		ColumnDefinitions []struct{ Name string }
		Rows              []struct{ Cells []any }
	}
	if err := json.Unmarshal(data, &table); err != nil {
		w.Fatal(err)
	}
	for _, c := range table.ColumnDefinitions {
		columns = append(columns, c.Name)
	}
	return columns, table.Rows[0].Cells
}
