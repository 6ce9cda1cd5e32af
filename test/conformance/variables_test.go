// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// secretOf and configMapOf are objects with this data.
func secretOf(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
}

func configMapOf(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

var variables = []behaviour{
	// Upstream: the program receives a variable of the object.
	{"000060_vars_and_controlled_outputs", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "{approvePlan: auto, vars: [{name: subject, value: Earth}], writeOutputsToSecret: {name: out, outputs: [hello_world]}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Earth!"})
	}},
	// Upstream: variables can have any type. Outputs that are not strings are written with their
	// type, byte for byte as printed by the tool. (Their whitespace depends on the tool's version.)
	{"000061_vars_hcl_input", func(w *world) {
		w.git(first, typed)
		w.stack("hello", `
approvePlan: auto
vars:
- {name: cluster_spec, value: {region: eu-test-1, env: stg, cluster: winter-squirrel, active: true, nodes: 10}}
- {name: zones, value: [a, b, c]}
writeOutputsToSecret: {name: out, outputs: [active, cluster_id, node_count, azs]}`)
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{
			"cluster_id": "eu-test-1:stg:winter-squirrel",
			"active":     "true", "active__type": `"bool"`,
			"node_count": "10", "node_count__type": `"number"`,
			"azs":       "[\n      \"eu-test-1a\",\n      \"eu-test-1b\",\n      \"eu-test-1c\"\n    ]",
			"azs__type": "[\n      \"tuple\",\n      [\n        \"string\",\n        \"string\",\n        \"string\"\n      ]\n    ]",
		})
	}},
	// Upstream: variables of the object and of a Secret can be combined.
	{"000062_vars_hcl", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "cluster" { type = object({ name = string, size = number }) }
			variable "token"   { type = string }
			output "all" { value = "${var.cluster.name}/${var.cluster.size}/${var.token}" }`})
		w.create(secretOf("tokens", map[string]string{"token": "sesame"}))
		w.stack("hello", `
approvePlan: auto
vars: [{name: cluster, value: {name: winter, size: 3}}]
varsFrom: [{kind: Secret, name: tokens}]
writeOutputsToSecret: {name: out}`)
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"all": "winter/3/sesame"})
	}},
	// Upstream: values become the variable "values".
	{"000063_values_hcl", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "values" { type = object({ name = string, size = number, zones = list(string) }) }
			output "all" { value = "${var.values.name}/${var.values.size}/${join(",", var.values.zones)}" }`})
		w.stack("hello", "{approvePlan: auto, values: {name: winter, size: 3, zones: [a, b]}, writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"all": "winter/3/a,b"})
	}},
	// Upstream accepts valueFrom but sets the variable to null. Fixed: it has the value.
	{"000060_value_from", func(w *world) {
		w.git(first, hello)
		w.create(secretOf("names", map[string]string{"planet": "Mars"}))
		w.stack("hello", "{approvePlan: auto, vars: [{name: subject, valueFrom: {secretKeyRef: {name: names, key: planet}}}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Mars!"})
	}},
}

var varsFromSecrets = []behaviour{
	// Upstream: a Secret's keys become variables.
	{"000070_varsfrom_secret", func(w *world) {
		w.git(first, hello)
		w.create(secretOf("names", map[string]string{"subject": "Mars"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: Secret, name: names}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Mars!"})
	}},
	// Upstream: varsKeys selects keys.
	{"000071_varsfrom_secret_with_varskeys", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "subject" {}
			variable "greeting" { default = "Hello" }
			output "hello_world" { value = "${var.greeting}, ${var.subject}!" }`})
		w.create(secretOf("names", map[string]string{"subject": "Mars", "greeting": "Bye"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: Secret, name: names, varsKeys: [subject]}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Mars!"})
	}},
	// Upstream: a missing Secret stops the stack. An optional one does not, and is read once it
	// exists: with force, on the next interval. Fixed: Yuba reads it at once, without force.
	{"000072_varsfrom_optional_secret", func(w *world) {
		w.git(first, hello)
		w.stack("strict", "{approvePlan: auto, varsFrom: [{kind: Secret, name: names}], writeOutputsToSecret: {name: strict-out}}")
		w.stack("lenient", "{approvePlan: auto, varsFrom: [{kind: Secret, name: names, optional: true}], writeOutputsToSecret: {name: lenient-out}}")
		s := w.await("strict", "it misses its Secret", failed("VarsGenerationFailed"))
		mentions(w, "Ready", told(s, "Ready"), "names")
		w.await("lenient", "it is applied", applied(firstPlan))
		w.awaitSecret("lenient-out", map[string]string{"hello_world": "Hello, World!"})
		w.create(secretOf("names", map[string]string{"subject": "Mars"}))
		w.await("strict", "it is applied", applied(firstPlan))
		w.awaitSecret("strict-out", map[string]string{"hello_world": "Hello, Mars!"})
		w.awaitSecret("lenient-out", map[string]string{"hello_world": "Hello, Mars!"})
	}},
	// Upstream: several Secrets.
	{"000073_varsfrom_many_secrets", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "subject" {}
			variable "greeting" {}
			output "hello_world" { value = "${var.greeting}, ${var.subject}!" }`})
		w.create(secretOf("one", map[string]string{"subject": "Mars"}), secretOf("two", map[string]string{"greeting": "Bye"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: Secret, name: one}, {kind: Secret, name: two}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Bye, Mars!"})
	}},
	// Upstream (calls the runner): if several Secrets have the same key, the last one takes
	// precedence. Here an output of the program shows it.
	{"000074_varsfrom_last_secret_wins", func(w *world) {
		w.git(first, hello)
		w.create(secretOf("one", map[string]string{"subject": "Mars"}), secretOf("two", map[string]string{"subject": "Venus"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: Secret, name: one}, {kind: Secret, name: two}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Venus!"})
	}},
	// Upstream: a missing key of a Secret sets the variable to an empty string, and so does each
	// key of a missing optional Secret. Yuba adds a warning.
	{"000071_varskeys_that_a_secret_lacks", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "subject" { default = "World" }
			variable "greeting" { default = "Hello" }
			output "hello_world" { value = "${var.greeting}, ${var.subject}!" }`})
		w.create(secretOf("names", map[string]string{"planet": "Mars"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: Secret, name: names, varsKeys: [subject]}], writeOutputsToSecret: {name: out}}")
		w.stack("optional", "{approvePlan: auto, varsFrom: [{kind: Secret, name: nowhere, optional: true, varsKeys: ['old:greeting']}], writeOutputsToSecret: {name: optional}}")
		s := w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, !"})
		mentions(w, "the warnings", strings.Join(s.Status.Warnings, "\n"), `has no key "subject"`, "the empty string")
		w.await("optional", "it is applied", applied(firstPlan))
		w.awaitSecret("optional", map[string]string{"hello_world": ", World!"})
	}},
	// Upstream: entries of varsKeys other than KEY or OLD:NEW are errors.
	{"000075_invalid_rename_patterns", func(w *world) {
		w.git(first, hello)
		w.create(secretOf("names", map[string]string{"a": "Mars"}), configMapOf("names", map[string]string{"a": "Mars"}))
		for name, from := range map[string]string{"two-colons": "{kind: Secret, name: names, varsKeys: ['a:b:c']}",
			"no-new-name": "{kind: ConfigMap, name: names, varsKeys: ['a:']}", "no-old-name": "{kind: Secret, name: gone, optional: true, varsKeys: [':a']}"} {
			w.stack(name, "{approvePlan: auto, varsFrom: [%s]}", from)
			s := w.await(name, "it names the pattern", failed("VarsGenerationFailed"))
			mentions(w, "Ready of "+name, told(s, "Ready"), "invalid rename pattern")
		}
	}},
	// Upstream: "old:new" renames a key.
	{"000075_varsfrom_secret_with_varskeys_rename", func(w *world) {
		w.git(first, hello)
		w.create(secretOf("names", map[string]string{"planet": "Mars"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: Secret, name: names, varsKeys: ['planet:subject']}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Mars!"})
	}},
}

var varsFromConfigMaps = []behaviour{
	// Upstream: a ConfigMap's keys become variables.
	{"000080_varsfrom_configmap", func(w *world) {
		w.git(first, hello)
		w.create(configMapOf("names", map[string]string{"subject": "Mars"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: ConfigMap, name: names}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Mars!"})
	}},
	// Upstream: a missing key of a ConfigMap is skipped, so the variable has its default.
	{"000080_varskeys_that_a_configmap_lacks", func(w *world) {
		w.git(first, hello)
		w.create(configMapOf("names", map[string]string{"planet": "Mars"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: ConfigMap, name: names, varsKeys: [subject]}], writeOutputsToSecret: {name: out}}")
		s := w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, World!"})
		mentions(w, "the warnings", strings.Join(s.Status.Warnings, "\n"), `has no key "subject"`, "is not set")
	}},
	// Upstream: several ConfigMaps.
	{"000081_varsfrom_many_configmaps", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "subject" {}
			variable "greeting" {}
			output "hello_world" { value = "${var.greeting}, ${var.subject}!" }`})
		w.create(configMapOf("one", map[string]string{"subject": "Mars"}), configMapOf("two", map[string]string{"greeting": "Bye"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: ConfigMap, name: one}, {kind: ConfigMap, name: two}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Bye, Mars!"})
	}},
	// Upstream (calls the runner): if several ConfigMaps have the same key, the last one takes
	// precedence.
	{"000082_varsfrom_last_configmap_wins", func(w *world) {
		w.git(first, hello)
		w.create(configMapOf("one", map[string]string{"subject": "Mars"}), configMapOf("two", map[string]string{"subject": "Venus"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: ConfigMap, name: one}, {kind: ConfigMap, name: two}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Venus!"})
	}},
	// Upstream: varsFrom takes precedence over vars.
	{"000090_varsfrom_override", func(w *world) {
		w.git(first, hello)
		w.create(secretOf("names", map[string]string{"subject": "Mars"}))
		w.stack("hello", `
approvePlan: auto
vars: [{name: subject, value: Earth}]
varsFrom: [{kind: Secret, name: names}]
writeOutputsToSecret: {name: out}`)
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Mars!"})
	}},
}
