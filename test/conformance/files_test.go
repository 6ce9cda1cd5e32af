// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
)

var files = []behaviour{
	// Upstream: the template main.tf.tpl becomes main.tf, with access to the values, all variables
	// and the functions of sprig.
	{"000064_main_tf_tpl", func(w *world) {
		w.git(first, program{"main.tf.tpl": `
			variable "suffix" { type = string }
			output "json_blob" {
			  value = jsonencode({
			    Values_Cluster   = "{{ .Values.cluster_name | upper }}"
			    Values_AccessKey = "{{ .Values.access_key }}"
			    Suffix           = "{{ .suffix }}"
			  })
			}`})
		w.stack("hello", `
approvePlan: auto
values: {cluster_name: my-cluster, access_key: my-access-key}
vars: [{name: suffix, value: end}]
writeOutputsToSecret: {name: out}`)
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"json_blob": `{"Suffix":"end","Values_AccessKey":"my-access-key","Values_Cluster":"MY-CLUSTER"}`})
	}},
	// Upstream: templates in values read the outputs of other stacks, including lists and objects.
	{"000065_values_of_complex_types", func(w *world) {
		w.git(first, program{
			"output/main.tf": `
				output "my_list"   { value = ["entry-1", "entry-2"] }
				output "my_object" { value = { name = "x", size = 3 } }
				output "my_text"   { value = "plain" }`,
			"input/main.tf": `
				variable "values" { type = map(string) }
				output "all" { value = join("/", [for k, v in var.values : "${k}=${v}"]) }`})
		w.stack("output", "{approvePlan: auto, path: ./output, writeOutputsToSecret: {name: tf-outputs}}")
		w.await("output", "it is applied", applied(firstPlan))
		w.stack("input", `
approvePlan: auto
path: ./input
readInputsFromSecrets: [{name: tf-outputs, as: inputs}]
values:
  entry: ${{ index .inputs.my_list 1 }}
  size: ${{ .inputs.my_object.size }}
  text: text-${{ .inputs.my_text }}
  list: ${{ range .inputs.my_list }}[${{ . }}]${{ end }}
writeOutputsToSecret: {name: out}`)
		w.await("input", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"all": "entry=entry-2/list=[entry-1][entry-2]/size=3/text=text-plain"})
	}},
	// Upstream inserts text into JSON without escaping. Fixed: a Secret's content stays a value,
	// even with quotes in it.
	{"000065_templates_escape", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "values" { type = any }
			output "keys"  { value = join(",", keys(var.values)) }
			output "quote" { value = var.values.quote }`})
		const nasty = `", "admin": "yes`
		w.create(secretOf("inputs", map[string]string{"quote": nasty}))
		w.stack("hello", `
approvePlan: auto
readInputsFromSecrets: [{name: inputs, as: inputs}]
values: {quote: '${{ .inputs.quote }}'}
writeOutputsToSecret: {name: out}`)
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"keys": "quote", "quote": nasty})
	}},
	// Upstream: a template that cannot be rendered has its own reason.
	{"template_that_cannot_be_rendered", func(w *world) {
		w.git(first, program{"main.tf.tpl": `output "x" { value = "{{ .Values.missing | nope }}" }`})
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it says that the template is wrong", failed("TemplateGenerationFailed"))
	}},
	// Upstream: keys of a Secret are written as files; one that ends in .tf is part of the program.
	// The tool can read files in the home directory.
	{"000330_file_mapping", func(w *world) {
		w.git(first, hello.and(program{"home.tf": `
output "from_home" { value = fileexists(pathexpand("~/note.txt")) ? "there" : "missing" }
output "by_path" { value = try(file("/home/runner/note.txt"), "only below another HOME") }`}))
		w.create(secretOf("content", map[string]string{"tf": `output "from_file_mapping" { value = "Hello, File mapping!" }`, "note": "a note"}))
		w.stack("hello", `
approvePlan: auto
fileMappings:
- {location: workspace, path: output_from_file_mapping.tf, secretRef: {name: content, key: tf}}
- {location: home, path: note.txt, secretRef: {name: content, key: note}}
writeOutputsToSecret: {name: out, outputs: [from_file_mapping, from_home, by_path]}`)
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"from_file_mapping": "Hello, File mapping!", "from_home": "there", "by_path": byPath(w)})
	}},
	// Upstream: paths of variable files are relative to the root of the source, not to path.
	{"000360_tfvars_files", func(w *world) {
		w.git(first, program{"app/main.tf": hello["main.tf"], "variables/test.tfvars": `subject = "TfVarsFiles"`})
		w.stack("hello", "{approvePlan: auto, path: ./app, tfVarsFiles: [./variables/test.tfvars], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, TfVarsFiles!"})
	}},
	// Upstream: they take precedence over all other variables.
	{"000360_tfvars_files_win", func(w *world) {
		w.git(first, hello.and(program{"test.tfvars": `subject = "TfVarsFiles"`}))
		w.create(secretOf("names", map[string]string{"subject": "Mars"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: Secret, name: names}], tfVarsFiles: [test.tfvars], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, TfVarsFiles!"})
	}},
	// Upstream: a missing file makes the plan fail.
	{"000360_tfvars_files_bad_path", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "{approvePlan: auto, tfVarsFiles: [./does-not-exist.tfvars]}")
		s := w.await("hello", "it misses the file", failed("TFExecPlanFailed"))
		mentions(w, "Ready", told(s, "Ready"), "tfvars file's path does not exist", "does-not-exist.tfvars")
	}},
}

// byPath is the result of a program that names the home directory by tofu-controller's path: the
// file's content, except on machines without namespaces, where HOME has another path.
func byPath(w *world) string {
	w.Helper()
	if givenKubeconfig() != "" {
		return "a note"
	}
	walls, err := confinement.Probe(w.Context(), filepath.Join(programs, "yuba-sandbox"))
	if err != nil {
		w.Fatal(err)
	}
	if walls.Alone() {
		return "a note"
	}
	return "only below another HOME"
}
