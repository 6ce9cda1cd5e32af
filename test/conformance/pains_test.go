// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// gated is a program whose apply stops in the middle until a variable can be read: the second
// resource needs it, and tofu reads it only when the first resource exists.
var gated = program{"main.tf": `
variable "thing" { type = string }
resource "terraform_data" "first" { input = "first" }
data "terraform_remote_state" "thing" {
  depends_on = [terraform_data.first]
  backend    = "http"
  config     = { address = var.thing }
}
resource "terraform_data" "second" { input = data.terraform_remote_state.thing.outputs.value }
`}

// sentences lists the events about a stack as "reason: note".
func (w *world) sentences(name string) []string {
	w.Helper()
	var list eventsv1.EventList
	if err := w.client.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, e := range list.Items {
		if e.Regarding.Name == name {
			out = append(out, e.Reason+": "+e.Note)
		}
	}
	return out
}

// Problems that users of tofu-controller report, as listed in README.md. test/e2e tests those that
// need a process to be killed.
var pains = []behaviour{
	// The lock of an active run is never broken, whatever the object says.
	{"pain_01_the_lock_of_a_live_run", func(w *world) {
		v := w.thing("thing", "open")
		v.hold(w)
		w.git(first, gated)
		w.stack("hello", "{approvePlan: auto, vars: [{name: thing, value: '%s'}], tfstate: {forceUnlock: auto}}", v.url)
		w.looked(v, 1)
		var lease coordinationv1.Lease
		if err := w.client.Get(w.Context(), w.key("lock-tfstate-default-hello"), &lease); err != nil {
			w.Fatal(err)
		}
		holder := *lease.Spec.HolderIdentity
		w.edit("hello", "tfstate: {forceUnlock: 'yes', lockIdentifier: %s}", holder)
		w.request("hello")
		// Another stack is applied meanwhile, so the first one had enough time.
		w.stack("other", "{approvePlan: auto, sourceRef: {kind: GitRepository, name: other}}")
		w.publish(infrav1.SourceKindGitRepository, "other", first, hello)
		w.await("other", "it is applied", applied(firstPlan))
		if err := w.client.Get(w.Context(), w.key("lock-tfstate-default-hello"), &lease); err != nil {
			w.Fatal(err)
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != holder {
			w.Errorf("the lock of %s was broken", holder)
		}
		v.letGo()
		w.await("hello", "it is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision == first })
		same(w, "resources", []string{"terraform_data.first", "terraform_data.second"}, w.state("tfstate-default-hello").addresses())
	}},
	// Yuba keeps everything that a deletion needs: source, Secret and dependency are deleted first,
	// and the resources are still destroyed.
	{"pain_04_deletion_without_source_and_inputs", func(w *world) {
		w.git(first, greeter)
		w.create(secretOf("names", map[string]string{"subject": "Mars"}))
		w.stack("hello", "{approvePlan: auto, destroyResourcesOnDeletion: true, varsFrom: [{kind: Secret, name: names}]}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.delete(newSource(infrav1.SourceKindGitRepository, "program"))
		w.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "names"}})
		w.deleteStack("hello")
		w.awaitGone("hello")
		same(w, "resources", 0, len(w.state("tfstate-default-hello").addresses()))
	}},
	// A failed plan does not block deletion.
	{"pain_04_deletion_of_what_never_worked", func(w *world) {
		w.git(first, program{"main.tf": `this is no program`})
		w.stack("hello", "{approvePlan: auto, destroyResourcesOnDeletion: true}")
		w.await("hello", "it fails", func(o *infrav1.Terraform) bool { return strings.HasPrefix(told(o, "Ready"), "False") })
		w.deleteStack("hello")
		w.awaitGone("hello")
	}},
	// A commit that approves a plan, or does not change it, does not void the approval.
	{"pain_05_approval_by_a_commit", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.git(second, greeter.and(program{"README.md": "unrelated"}))
		w.await("hello", "the new revision is planned under the same id", func(o *infrav1.Terraform) bool {
			return pending(firstPlan)(o) && o.Status.LastPlannedRevision == second
		})
		w.git(third, greeter.and(program{"stacks/hello.yaml": "approvePlan: " + firstPlan}))
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Yuba applies exactly the reviewed plan: if external data changes in between, the approval is
	// void.
	{"pain_05_what_was_reviewed_is_applied", func(w *world) {
		v := w.thing("thing", "reviewed")
		w.git(first, follower)
		w.stack("hello", "{vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		w.await("hello", "its plan waits", pending(firstPlan))
		v.set("not reviewed")
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"copy": "reviewed"})
	}},
	// Drift checks continue while a plan waits.
	{"pain_06_drift_while_a_plan_waits", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{interval: 1s, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		w.await("hello", "its plan waits", pending(firstPlan))
		v.set("after")
		w.await("hello", "the plan is made again", pending(firstPlan+"-2"))
		w.edit("hello", "approvePlan: %s-2", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan+"-2"))
		w.awaitSecret("out", map[string]string{"copy": "after"})
	}},
	// Many stacks at once need no Pods, and leave none.
	{"pain_07_many_stacks_at_once", func(w *world) {
		w.git(first, greeter)
		const many = 40
		for i := range many {
			w.stack(fmt.Sprintf("hello-%d", i), "{approvePlan: auto, vars: [{name: subject, value: '%d'}]}", i)
		}
		for i := range many {
			w.await(fmt.Sprintf("hello-%d", i), "it is applied", applied(firstPlan))
		}
	}},
	// A changed output starts dependent stacks at once: the intervals are an hour.
	{"pain_08_outputs_start_dependants", func(w *world) {
		w.chain("{approvePlan: auto, retryInterval: 1h, writeOutputsToSecret: {name: upstream-out}}")
		w.await("downstream", "it is applied", applied(firstPlan))
		w.edit("downstream", "retryInterval: 1h")
		w.await("downstream", "it is ready", ready)
		w.edit("upstream", "vars: [{name: subject, value: Mars}]")
		w.awaitSecret("downstream-out", map[string]string{"heard": "I heard: Hello, Mars!"})
	}},
	// Plans can have any size: this one is too large for a Secret, its JSON too large for a gRPC
	// message, and so is its state.
	{"pain_09_a_large_plan", func(w *world) {
		w.git(first, program{"main.tf": `
			resource "terraform_data" "large" { input = [for i in range(100) : join("", [for j in range(400) : sha256("${i}/${j}")])] }
			output "sum" { value = sha256(join("", terraform_data.large.output)) }`})
		w.stack("hello", "writeOutputsToSecret: {name: out}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
		same(w, "length of the sum", 64, len(w.secret("out")["sum"]))
		s := w.await("hello", "it is planned again", handled(w.request("hello")))
		same(w, "Plan", "False TerraformPlannedNoChanges: Plan no changes", told(s, "Plan"))
	}},
	// Archives can be larger than a gRPC message: this one has more than 8 MiB and cannot be
	// compressed.
	{"pain_10_a_large_archive", func(w *world) {
		noise := make([]byte, 8<<20)
		if _, err := rand.Read(noise); err != nil {
			w.Fatal(err)
		}
		w.git(first, hello.and(program{"noise.bin": string(noise)}))
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Downloads are kept: a drift check downloads nothing.
	{"pain_11_nothing_is_downloaded_twice", func(w *world) {
		v := w.thing("thing", "before")
		registry := w.registry("modules.invalid", "sesame", follower)
		w.git(first, program{"main.tf": `
			variable "thing" {}
			module "follower" {
			  source  = "modules.invalid/team/answer/any"
			  version = "1.0.0"
			  thing   = var.thing
			}`})
		w.create(secretOf("tool", map[string]string{"credentials.tfrc": registry.config}))
		w.stack("hello", "{approvePlan: auto, interval: 1s, cliConfigSecretRef: {name: tool}, vars: [{name: thing, value: '%s'}]}", v.url)
		w.await("hello", "it is applied", applied(firstPlan))
		w.looked(v, 1)
		asked := registry.asked()
		w.looked(v, 3)
		same(w, "questions to the registry", asked, registry.asked())
	}},
	// No certificates to rotate in each namespace, and no Pods to reach by name.
	{"pain_12_no_certificates", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it is applied", applied(firstPlan))
		var secrets corev1.SecretList
		if err := w.client.List(w.Context(), &secrets, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
		for _, s := range secrets.Items {
			if !strings.HasPrefix(s.Name, "tfstate-") {
				w.Errorf("there is a Secret %s", s.Name)
			}
		}
	}},
	// Events describe what happened. Unlike upstream's event for written outputs, a success does
	// not have the reason of a failure.
	{"pain_13_events_tell_the_story", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "writeOutputsToSecret: {name: out}")
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
		for _, begins := range []string{"TerraformPlanSucceed: Planned.\nPlan generated: set approvePlan: \"" + firstPlan + "\"",
			"TerraformAppliedSucceed: Applied successfully", "TerraformOutputsWritten: Outputs written"} {
			w.awaitEvent("hello", begins)
		}
		for _, s := range w.sentences("hello") {
			if strings.Contains(s, "Failed") {
				w.Errorf("an event contains %q", s)
			}
		}
	}},
	// A secret that the tool prints, in an error or in a plan, appears nowhere.
	{"pain_14_secrets_are_not_told", func(w *world) {
		const secret = "sesame-open-7742"
		w.create(secretOf("names", map[string]string{"password": secret}))
		w.git(first, program{"main.tf": `
			variable "password" {
			  type      = string
			  sensitive = true
			}
			variable "fail" { default = true }
			resource "terraform_data" "one" {
			  input = var.password
			  lifecycle {
			    precondition {
			      condition     = !var.fail
			      error_message = "The password is ${nonsensitive(var.password)}."
			    }
			  }
			}`})
		w.stack("hello", "{storeReadablePlan: human, varsFrom: [{kind: Secret, name: names}]}")
		s := w.await("hello", "its plan fails", failed("TFExecPlanFailed"))
		mentions(w, "Ready", told(s, "Ready"), "The password is")
		w.edit("hello", "vars: [{name: fail, value: false}]")
		s = w.await("hello", "its plan waits", func(o *infrav1.Terraform) bool { return settled(o) && o.Status.Plan.Pending != "" })
		w.edit("hello", "approvePlan: %s", s.Status.Plan.Pending)
		w.await("hello", "it is applied", ready)
		w.tellsNowhere("hello", secret)
	}},
	// Each stack selects its tool; a missing one causes a clear condition.
	{"pain_15_the_tool_of_a_stack", func(w *world) {
		w.git(first, hello)
		w.stack("good", "{approvePlan: auto, tool: {name: tofu, version: '>= 1.6'}}")
		w.stack("bad", "{approvePlan: auto, tool: {name: tofu, version: '>= 99'}}")
		w.await("good", "it is applied", applied(firstPlan))
		s := w.await("bad", "it misses its tool", failed("TFExecNewFailed"))
		mentions(w, "Ready", told(s, "Ready"), ">= 99")
		w.edit("bad", "tool: null")
		w.await("bad", "it is applied", applied(firstPlan))
	}},
}

// awaitEvent waits for an event of a stack, "REASON: message", that begins with the words.
func (w *world) awaitEvent(name, begins string) {
	w.Helper()
	eventually(w.T, "an event tells "+begins, func() error {
		told := w.sentences(name)
		if slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, begins) }) {
			return nil
		}
		return fmt.Errorf("the events are:\n%s", strings.Join(told, "\n"))
	}, w.log)
}

// tellsNowhere reports a secret in a stack, its events or its readable plans.
func (w *world) tellsNowhere(name, secret string) {
	w.Helper()
	object, err := json.Marshal(w.get(name))
	if err != nil {
		w.Fatal(err)
	}
	places := map[string]string{"the object": string(object), "an event": strings.Join(w.sentences(name), "\n")}
	var configMaps corev1.ConfigMapList
	if err := w.client.List(w.Context(), &configMaps, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for _, cm := range configMaps.Items {
		places["ConfigMap "+cm.Name] = strings.Join(slices.Sorted(maps.Values(cm.Data)), "\n")
	}
	for place, text := range places {
		if strings.Contains(text, secret) {
			w.Errorf("%s contains the secret", place)
		}
	}
}
