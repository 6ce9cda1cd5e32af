// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Upstream tests its scheduling by calling it with invented times. Here a second stack, which
// differs in one field, shows that the first one had enough time.
var intervals = []behaviour{
	// A stack is checked only when its interval has elapsed.
	{"interval_not_elapsed", func(w *world) {
		v, twin := w.thing("thing", "before"), w.thing("twin", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, interval: 1h, vars: [{name: thing, value: '%s'}]}", v.url)
		w.stack("twin", "{approvePlan: auto, interval: 1s, vars: [{name: thing, value: '%s'}]}", twin.url)
		w.await("hello", "it is applied", applied(firstPlan))
		w.await("twin", "it is applied", applied(firstPlan))
		reads := v.read()
		w.looked(twin, 3)
		same(w, "reads", reads, v.read())
	}},
	// A request causes exactly one reconciliation, at once.
	{"interval_new_request", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		w.await("hello", "it is applied", applied(firstPlan))
		v.set("after")
		w.await("hello", "the request is served", handled(w.request("hello")))
		w.awaitSecret("out", map[string]string{"copy": "after"})
	}},
	// A changed object or input is planned at once, whatever the interval.
	{"interval_generation_changed", func(w *world) {
		w.git(first, hello)
		w.create(configMapOf("names", map[string]string{"subject": "Mars"}))
		w.stack("hello", "{approvePlan: auto, varsFrom: [{kind: ConfigMap, name: names}], writeOutputsToSecret: {name: out}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "varsFrom: [{kind: ConfigMap, name: names, varsKeys: ['planet:subject'], optional: true}]")
		cm := configMapOf("names", map[string]string{"planet": "Venus"})
		cm.Namespace = w.namespace
		if err := w.client.Update(w.Context(), cm); err != nil {
			w.Fatal(err)
		}
		w.awaitSecret("out", map[string]string{"hello_world": "Hello, Venus!"})
	}},
	// A forced stack is planned and applied on its interval, even without drift detection.
	{"interval_force", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", `
interval: 1s
force: true
disableDriftDetection: true
vars: [{name: thing, value: '%s'}]
writeOutputsToSecret: {name: out}`, v.url)
		w.await("hello", "it is applied", applied(firstPlan))
		v.set("after")
		w.awaitSecret("out", map[string]string{"copy": "after"})
	}},
	// Upstream: enabling force on an applied stack applies at once, whatever the interval.
	{"interval_force_is_switched_on", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, interval: 1h, disableDriftDetection: true, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		w.await("hello", "it is applied", applied(firstPlan))
		v.set("after")
		w.edit("hello", "{approvePlan: '', force: true}")
		w.awaitSecret("out", map[string]string{"copy": "after"})
		w.await("hello", "it is applied", ready)
	}},
	// A suspended stack does nothing, whatever changes, and continues when it is resumed.
	{"interval_suspended", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "suspend: true")
		w.git(second, greeter)
		w.stack("later", "approvePlan: auto")
		w.await("later", "it is applied", applied(secondPlan))
		same(w, "last applied", firstPlan, w.get("hello").Status.Plan.LastApplied)
		w.edit("hello", "suspend: false")
		w.await("hello", "it continues", applied(secondPlan))
	}},
	// Upstream: while breakTheGlass is set, nothing runs, because a person works on the stack.
	{"break_the_glass", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "breakTheGlass: true")
		w.git(second, greeter)
		w.stack("later", "approvePlan: auto")
		w.await("later", "it is applied", applied(secondPlan))
		same(w, "last applied", firstPlan, w.get("hello").Status.Plan.LastApplied)
		w.edit("hello", "breakTheGlass: false")
		w.await("hello", "it continues", applied(secondPlan))
	}},
	// Upstream: 000260 asserts the Pod made from runnerPodTemplate. The tool gets its environment;
	// fields that only apply to Pods are reported where there are none.
	{"000260_environment_of_the_runner", func(w *world) {
		w.git(first, program{"main.tf": `
			variable "subject" {}
			variable "greeting" {}
			output "hello_world" { value = "${var.greeting}, ${var.subject}!" }`})
		w.create(secretOf("environment", map[string]string{"TF_VAR_greeting": "Bye"}))
		w.stack("hello", `
approvePlan: auto
runnerPodTemplate:
  spec:
    env: [{name: TF_VAR_subject, value: Pod}]
    envFrom: [{secretRef: {name: environment}}]
    nodeSelector: {kubernetes.io/os: linux}
writeOutputsToSecret: {name: out}`)
		s := w.await("hello", "it is applied", applied(firstPlan))
		w.awaitSecret("out", map[string]string{"hello_world": "Bye, Pod!"})
		var pods corev1.PodList
		if err := w.client.List(w.Context(), &pods, client.InNamespace(w.namespace)); err == nil && len(pods.Items) > 0 {
			if got := pods.Items[0].Spec.NodeSelector; got["kubernetes.io/os"] != "linux" {
				w.Errorf("the Pod's node selector is %v", got)
			}
			return
		}
		mentions(w, "the warnings", strings.Join(s.Status.Warnings, "\n"), "nodeSelector")
	}},
	// Upstream: objects of the old version of the kind continue to work.
	{"v1alpha1_is_served", func(w *world) {
		w.git(first, hello)
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "infra.contrib.fluxcd.io/v1alpha1", "kind": "Terraform", "metadata": map[string]any{"name": "hello"},
			"spec": map[string]any{"interval": "1h", "approvePlan": "auto", "sourceRef": map[string]any{"kind": "GitRepository", "name": "program"}}}}
		w.create(obj)
		w.await("hello", "it is applied", applied(firstPlan))
	}},
}
