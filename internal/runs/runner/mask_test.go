// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
)

// Provider plugins and scripts print secrets in the encodings of their protocols. Package mask has
// the whole table; these were found in logs and plans.
func TestLogLinesHideSecretsInTheEncodingsOfProtocols(t *testing.T) {
	const secret = `S3cr3t/p@ss w"rd`
	m := (&run.Spec{Variables: map[string]run.Variable{"password": {Value: execution.Encode(secret), Secret: true}}}).KnownSecrets().Masker(mask.Mark)
	for name, line := range map[string]struct{ in, leaks string }{
		"in Basic auth, behind the user's name":   {`{"@message":"Authorization: Basic YXBwOlMzY3IzdC9wQHNzIHcicmQ="}`, "MzY3IzdC9wQHNzIHcicm"},
		"in Basic auth, behind a longer name":     {`{"@message":"Authorization: Basic YWRtaW46UzNjcjN0L3BAc3MgdyJyZA=="}`, "UzNjcjN0L3BAc3MgdyJyZA"},
		"percent-encoded in a URL":                {`{"@message":"dial postgres://app:S3cr3t%2Fp%40ss%20w%22rd@db/shop"}`, "S3cr3t%2Fp%40ss"},
		"percent-encoded in lower case":           {`{"@message":"dial postgres://app:S3cr3t%2fp%40ss+w%22rd@db/shop"}`, "S3cr3t%2fp%40ss"},
		"in JSON that is in JSON that is in JSON": {`{"@message":"{\"body\":\"{\\\"pw\\\":\\\"S3cr3t/p@ss w\\\\\\\"rd\\\"}\"}"}`, "S3cr3t"},
		"in hex":        {`{"@message":"key 5333637233742f70407373207722726421"}`, "5333637233742f7040737320772272"},
		"in upper hex":  {`{"@message":"key 5333637233742F70407373207722726421"}`, "5333637233742F7040737320772272"},
		"in upper case": {`{"@message":"user S3CR3T/P@SS W\"RD"}`, "S3CR3T"},
		"in HTML":       {`{"@message":"<b>S3cr3t/p@ss w&quot;rd</b>"}`, "S3cr3t"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(m.Line([]byte(line.in))); strings.Contains(got, line.leaks) {
				t.Errorf("%s", got)
			} else if !json.Valid([]byte(got)) {
				t.Errorf("this is not JSON: %s", got)
			}
		})
	}
}

// Plan, log and result never show the secret, in whatever encoding the program uses; the applied
// values have it.
func TestViewersSeeNoEncodedSecretInPlans(t *testing.T) {
	const secret = `S3cr3t/p@ss+w"rd`
	b := newBench(t).start()
	r := b.stack("encoded", run.OperationPlanAndApply, program(`
variable "password" {}
variable "user" {}
resource "terraform_data" "url" { input = "amqp://app:${urlencode(var.password)}@mq/shop" }
resource "terraform_data" "basic" { input = { Authorization = "Basic ${base64encode("app:${var.password}")}" } }
resource "terraform_data" "docker" { input = base64encode(jsonencode({ auths = { r = { auth = base64encode("app:${var.password}") } } })) }
resource "terraform_data" "json" { input = jsonencode({ body = jsonencode({ pw = var.password }) }) }
resource "terraform_data" "loud" { input = upper(var.password) }
resource "terraform_data" "app" { input = { user = var.user, note = "the app of ${var.user}-1" } }
output "url" { value = "https://h/?p=${urlencode(var.password)}" }`))
	r.spec.Describe, r.spec.PlanText, r.spec.PlanDocument = true, true, true
	r.spec.Variables = map[string]run.Variable{"password": {Value: execution.Encode(secret), Secret: true}, "user": {Value: execution.Encode("app"), Secret: true}}
	result := b.succeed(r)
	leaks := []string{"S3cr3t", "S3CR3T", "p%40ss", "MzY3IzdC9wQHNzK3ci", "UzNjcjN0L3BAc3Mrd", "TTNZM0l6ZEM5d1FITnpL"}
	for name, shown := range map[string][]byte{"log": r.log, "plan": r.planJSON, "text": r.planText, "document": r.planShow, "result": execution.Encode(result)} {
		for _, leak := range leaks {
			if strings.Contains(string(shown), leak) {
				t.Errorf("the %s shows %s:\n%s", name, leak, shown)
			}
		}
		if (name == "plan" || name == "text") && (!strings.Contains(string(shown), "terraform_data.app") || !strings.Contains(string(shown), "the app of app-1")) {
			t.Errorf("the %s is not readable any more:\n%s", name, shown)
		}
	}
	if state := string(r.lastState()); !strings.Contains(state, "p%40ss") || !strings.Contains(state, "Basic YXBwOlMzY3IzdC9wQHNzK3cicmQ=") {
		t.Errorf("the state must have the values as they are:\n%s", state)
	}
}

func TestSecretsAreInNothingThatLeavesTheRun(t *testing.T) {
	const secret, multi = "s3cr3t<&>\"x\"", "line-one-of-key\nline-two-of-key"
	b := newBench(t).start()
	r := b.stack("secrets", run.OperationPlanAndApply, program(`
variable "password" { type = string }
variable "key" { type = string }
resource "terraform_data" "a" {
  input = var.password
  lifecycle {
    postcondition {
      condition     = self.id == var.password
      error_message = "The value ${var.password} of ${jsonencode({ k = var.password })} is bad."
    }
  }
  provisioner "local-exec" { command = "printf '%s\n' \"$KEY\" \"$TOKEN\"; env | grep ^TOKEN= >&2" }
}
resource "terraform_data" "b" {
  provisioner "local-exec" {
    command     = "printf '%s\n' \"$KEY\""
    environment = { KEY = var.key }
  }
}
output "o" { value = var.password }`))
	password, _ := json.Marshal(secret)
	key, _ := json.Marshal(multi)
	r.spec.Variables = map[string]run.Variable{"password": {Value: password, Secret: true}, "key": {Value: key, Secret: true}}
	r.spec.Env = []run.EnvVar{{Name: "TOKEN", Value: "t0ken-of-env", Secret: true}, {Name: "KEY", Value: multi, Secret: true}}
	result := b.do(r)
	if result.Outcome != run.OutcomeFailed {
		t.Errorf("%+v", result)
	}
	everything := string(r.log) + string(execution.Encode(result))
	for _, part := range []string{"s3cr3t", "line-one-of-key", "line-two-of-key", "t0ken-of-env"} {
		if strings.Contains(everything, part) {
			t.Errorf("%q is in\n%s", part, everything)
		}
	}
	if !strings.Contains(string(r.lastState()), "s3cr3t") || !strings.Contains(result.Error, mask.Mark) {
		t.Errorf("the state must have the value; error %s", result.Error)
	}
}
