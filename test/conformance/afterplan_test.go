// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var readablePlans = []behaviour{
	// Upstream: a readable plan is in a ConfigMap named like the plan, exactly as printed by the
	// tool.
	{"000031_readable_plan", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "storeReadablePlan: human")
		w.await("hello", "its plan waits", pending(firstPlan))
		var cm corev1.ConfigMap
		eventually(w.T, "the plan is in a ConfigMap", func() error { return w.client.Get(w.Context(), w.key("tfplan-default-hello"), &cm) }, w.log)
		same(w, "savedPlan", firstPlan, cm.Annotations["savedPlan"])
		same(w, "plan", "\nChanges to Outputs:\n  + hello_world = \"Hello, World!\"\n\n"+
			"You can apply this plan to save these new output values to the OpenTofu\nstate, without changing any real infrastructure.\n", cm.Data["tfplan"])
		// It is deleted with the stack.
		w.deleteStack("hello")
		w.awaitGone("hello")
		w.awaitNothing(&corev1.ConfigMap{}, "tfplan-default-hello")
	}},
	// Upstream: the same as JSON, in a Secret.
	{"000031_readable_plan_json", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "storeReadablePlan: json")
		w.await("hello", "its plan waits", pending(firstPlan))
		var plan struct {
			FormatVersion   string `json:"format_version"`
			ResourceChanges []struct {
				Address string
				Change  struct{ Actions []string }
			} `json:"resource_changes"`
		}
		eventually(w.T, "the plan is in a Secret", func() error {
			data, err := w.readableJSON("hello")
			if err != nil {
				return err
			}
			return json.Unmarshal(data, &plan)
		}, w.log)
		if len(plan.ResourceChanges) != 1 || plan.ResourceChanges[0].Address != "terraform_data.greeting" || plan.FormatVersion == "" {
			w.Errorf("the plan is %+v", plan)
		}
	}},
	// Upstream: resources are listed by name, type and the provider's id.
	{"000280_inventory", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, enableInventory: true}")
		s := w.await("hello", "it is applied", applied(firstPlan))
		if s.Status.Inventory == nil {
			w.Fatal("there is no inventory")
		}
		id := w.state("tfstate-default-hello").id("terraform_data.greeting")
		same(w, "inventory", []infrav1.ResourceRef{{Name: "greeting", Type: "terraform_data", Identifier: id}}, s.Status.Inventory.Entries)
	}},
}

// healthy is a program whose outputs contain the addresses to check.
var healthy = program{"main.tf": `
variable "url"     { type = string }
variable "address" { type = string }
output "url"     { value = var.url }
output "address" { value = var.address }
`}

var healthChecks = []behaviour{
	// Upstream: 000240 is a unit test. Services are checked after an apply; templates can use the
	// outputs.
	{"000241_health_checks", func(w *world) {
		url := w.outside.serve("/health/"+w.namespace, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })
		w.git(first, healthy)
		w.stack("hello", `
approvePlan: auto
vars: [{name: url, value: '%s'}, {name: address, value: '%s'}]
healthChecks:
- {name: tcpTest, type: tcp, address: '${{.address}}'}
- {name: httpTest, type: http, url: '${{ .url }}', timeout: 5s}
writeOutputsToSecret: {name: out}`, url, strings.TrimPrefix(w.outside.url, "http://"))
		s := w.await("hello", "it is healthy", tells("HealthCheck", "True HealthChecksSucceed: Health checks succeeded"))
		same(w, "last applied", firstPlan, s.Status.Plan.LastApplied)
	}},
	// Upstream: a service that does not answer makes the stack not ready.
	{"000242_bad_health_checks", func(w *world) {
		address, _ := freeAddress(w.T)
		url := w.outside.url + "/nothing/is/here"
		w.git(first, healthy)
		w.stack("tcp", `
approvePlan: auto
vars: [{name: url, value: '%s'}, {name: address, value: '%s'}]
healthChecks: [{name: tcpTestBadPort, type: tcp, address: '${{.address}}', timeout: 5s}]`, url, address)
		w.stack("http", `
approvePlan: auto
vars: [{name: url, value: '%s'}, {name: address, value: '%s'}]
healthChecks: [{name: httpTestBadUrl, type: http, url: '${{.url}}', timeout: 5s}]`, url, address)
		s := w.await("tcp", "it is not healthy", func(o *infrav1.Terraform) bool { return conditionOf(o, "HealthCheck").Reason == "HealthChecksFailed" })
		mentions(w, "HealthCheck", told(s, "HealthCheck"), "False HealthChecksFailed: TCP health check error: tcpTestBadPort, url: "+address)
		s = w.await("http", "it is not healthy", func(o *infrav1.Terraform) bool { return conditionOf(o, "HealthCheck").Reason == "HealthChecksFailed" })
		mentions(w, "HealthCheck", told(s, "HealthCheck"), "False HealthChecksFailed: HTTP health check error: httpTestBadUrl, url: "+url)
		w.await("http", "it is not ready", failed("HealthChecksFailed"))
	}},
	// Upstream never checks again after a success. Fixed: Yuba detects that a service works again.
	{"000242_health_returns", func(w *world) {
		var mu sync.Mutex
		status := http.StatusServiceUnavailable
		url := w.outside.serve("/health/"+w.namespace, func(rw http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			rw.WriteHeader(status)
		})
		w.git(first, healthy)
		w.stack("hello", `
approvePlan: auto
vars: [{name: url, value: '%s'}, {name: address, value: 'x:1'}]
healthChecks: [{name: httpTest, type: http, url: '${{.url}}', timeout: 5s}]`, url)
		w.await("hello", "it is not ready", failed("HealthChecksFailed"))
		mu.Lock()
		status = http.StatusOK
		mu.Unlock()
		w.await("hello", "it is ready", ready)
	}},
}

// judge is a policy service.
type judge struct {
	url string

	mu    sync.Mutex
	reply string
	asked [][]byte
}

func (w *world) judge(name, reply string) *judge {
	j := &judge{reply: reply}
	j.url = w.outside.serve("/judges/"+w.namespace+"/"+name, func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body) //nolint:errcheck // what was cut is seen by the case
		j.mu.Lock()
		defer j.mu.Unlock()
		j.asked = append(j.asked, body)
		rw.Header().Set("Content-Type", "application/json")
		io.WriteString(rw, j.reply) //nolint:errcheck // the controller reports a failed read
	})
	return j
}

// questions counts the requests to the judge.
func (j *judge) questions() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.asked)
}

// heard is the last request to the judge.
func (j *judge) heard(w *world) map[string]any {
	w.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.asked) == 0 {
		w.Fatal("the service was not asked")
	}
	var payload map[string]any
	if err := json.Unmarshal(j.asked[len(j.asked)-1], &payload); err != nil {
		w.Fatal(err)
	}
	return payload
}

func (j *judge) says(reply string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reply = reply
}

const (
	passes = `{"passed": true}`
	fails  = `{"passed": false, "violations": [{"message": "too many nodes"}]}`
)

var webhooks = []behaviour{
	// Upstream: each plan is sent to the services, in order. One that refuses it stops the stack
	// with its message, and a disabled one is not called. Fixed: no client certificate is needed.
	{"000340_webhooks", func(w *world) {
		pass, fail, disabled := w.judge("pass", passes), w.judge("fail", fails), w.judge("disabled", fails)
		w.git(first, greeter)
		w.stack("hello", `
approvePlan: auto
webhooks:
- {stage: post-planning, url: '%s', testExpression: '${{ .passed }}', errorMessageTemplate: 'SHOULD PASS Violation: ${{ (index .violations 0).message }}'}
- {stage: post-planning, url: '%s', testExpression: '${{ .passed }}', errorMessageTemplate: 'SHOULD FAIL Violation: ${{ (index .violations 0).message }}'}
- {stage: post-planning, url: '%s', enabled: false, testExpression: '${{ .passed }}', errorMessageTemplate: 'DISABLED'}`, pass.url, fail.url, disabled.url)
		s := w.await("hello", "its plan is refused", func(o *infrav1.Terraform) bool { return conditionOf(o, "Plan").Reason == "PostPlanningWebhookFailed" })
		same(w, "Plan", "False PostPlanningWebhookFailed: SHOULD FAIL Violation: too many nodes", told(s, "Plan"))
		same(w, "last applied, pending", []string{"", ""}, []string{s.Status.Plan.LastApplied, s.Status.Plan.Pending})
		same(w, "questions to the disabled service", 0, disabled.questions())
		fail.says(passes)
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Upstream: the services receive the object, the plan, or both.
	{"000340_webhook_payloads", func(w *world) {
		both, spec, plan := w.judge("both", passes), w.judge("spec", passes), w.judge("plan", passes)
		w.git(first, greeter)
		w.stack("hello", `
approvePlan: auto
webhooks:
- {stage: post-planning, url: '%s', testExpression: '${{ .passed }}', payloadType: SpecAndPlan}
- {stage: post-planning, url: '%s', testExpression: '${{ .passed }}', payloadType: SpecOnly}
- {stage: post-planning, url: '%s', testExpression: '${{ .passed }}', payloadType: PlanOnly}`, both.url, spec.url, plan.url)
		w.await("hello", "it is applied", applied(firstPlan))
		heard := both.heard(w)
		same(w, "kind", []any{"infra.contrib.fluxcd.io/v1alpha2", "Terraform"}, []any{heard["apiVersion"], heard["kind"]})
		same(w, "name", any("hello"), heard["metadata"].(map[string]any)["name"])
		tfplan, _ := heard["status"].(map[string]any)["tfplan"].(map[string]any)
		if _, ok := tfplan["resource_changes"]; !ok {
			w.Errorf("SpecAndPlan has no plan: %v", heard)
		}
		heard = spec.heard(w)
		same(w, "approvePlan", any("auto"), heard["spec"].(map[string]any)["approvePlan"])
		if status, ok := heard["status"].(map[string]any); ok && status["tfplan"] != nil {
			w.Error("SpecOnly has a plan")
		}
		if _, ok := plan.heard(w)["resource_changes"]; !ok {
			w.Errorf("PlanOnly has no plan: %v", plan.heard(w))
		}
	}},
}
