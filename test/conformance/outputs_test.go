// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// several has several outputs.
var several = program{"main.tf": `
variable "subject" {
  type    = string
  default = "World"
}
output "hello_world" { value = "Hello, ${var.subject}!" }
output "age_agekey"  { value = "AGE-KEY" }
output "password" {
  value     = "sesame"
  sensitive = true
}
`}

var outputs = []behaviour{
	// Upstream: only the selected outputs are written, to a Secret that the object owns.
	{"000040_controlled_outputs", func(w *world) {
		w.git(first, several)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out, outputs: [hello_world], labels: {a: b}, annotations: {c: d}}}")
		s := w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, World!"})
		same(w, "Output", "True TerraformOutputsWritten: Outputs written", told(s, "Output"))
		same(w, "Ready", "True TerraformOutputsWritten: Outputs written: "+first, told(s, "Ready"))
		same(w, "available outputs", []string{"age_agekey", "hello_world", "password"}, s.Status.AvailableOutputs)
		var out corev1.Secret
		if err := w.client.Get(w.Context(), w.key("out"), &out); err != nil {
			w.Fatal(err)
		}
		if !metav1.IsControlledBy(&out, s) {
			w.Errorf("the Secret is owned by %+v", out.OwnerReferences)
		}
		same(w, "labels and annotations", []string{"b", "d"}, []string{out.Labels["a"], out.Annotations["c"]})
	}},
	// Upstream: without a selection, all outputs are written, including sensitive ones.
	{"000041_all_outputs", func(w *world) {
		w.git(first, several)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, World!", "age_agekey": "AGE-KEY", "password": "sesame"})
	}},
	// Upstream: an output can be written under a name that is not a valid identifier.
	{"000042_output_name_contains_dot", func(w *world) {
		w.git(first, several)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out, outputs: ['age_agekey:age.agekey']}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"age.agekey": "AGE-KEY"})
	}},
	// Upstream: a deleted Secret is written again.
	{"000043_outputs_are_reconciled", func(w *world) {
		w.git(first, several)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out, outputs: [hello_world]}}")
		w.await("hello", "it is applied", applied(firstPlan))
		var old, now corev1.Secret
		if err := w.client.Get(w.Context(), w.key("out"), &old); err != nil {
			w.Fatal(err)
		}
		w.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "out"}})
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, World!"})
		if err := w.client.Get(w.Context(), w.key("out"), &now); err != nil {
			w.Fatal(err)
		}
		if now.UID == old.UID {
			w.Error("it is the same Secret")
		}
	}},
	// Upstream: a selected output that does not exist is an error.
	{"000040_unknown_output", func(w *world) {
		w.git(first, several)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out, outputs: [helo]}}")
		s := w.await("hello", "it misses the output", failed("OutputsWritingFailed"))
		mentions(w, "Ready", told(s, "Ready"), "helo", "hello_world")
		same(w, "applied revision", first, s.Status.LastAppliedRevision)
	}},
	// Upstream: a stack without outputs has no condition about outputs.
	{"000281_no_outputs", func(w *world) {
		w.git(first, program{"main.tf": `resource "terraform_data" "one" {}`})
		w.stack("hello", "approvePlan: auto")
		s := w.await("hello", "it is applied", applied(firstPlan))
		same(w, "Output", "", told(s, "Output"))
		same(w, "available outputs", 0, len(s.Status.AvailableOutputs))
	}},
	// Upstream overwrites a Secret of another owner, and deletes it with the object (#538). Fixed:
	// Yuba does not change it.
	{"000043_foreign_secret", func(w *world) {
		w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "out"}, StringData: map[string]string{"theirs": "yes"}})
		w.git(first, several)
		w.stack("hello", "{approvePlan: auto, writeOutputsToSecret: {name: out}}")
		s := w.await("hello", "it says that the Secret is not its own", failed("OutputsWritingFailed"))
		mentions(w, "Ready", told(s, "Ready"), "out")
		w.deleteStack("hello")
		w.awaitGone("hello")
		same(w, "Secret", map[string]string{"theirs": "yes"}, w.secret("out"))
	}},
}
