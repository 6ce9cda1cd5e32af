// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// The result has tofu's errors in parts, masked, so that the server can find similar failures.
func TestAFailureIsToldInParts(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("bad", run.OperationPlan, program(`
variable "v" { type = string }
resource "terraform_data" "c" {
  lifecycle {
    precondition {
      condition     = var.v == "other"
      error_message = "the word is ${var.v}"
    }
  }
}
`))
	r.spec.Variables = map[string]run.Variable{"v": {Value: json.RawMessage(`"hunter2-hunter2"`), Secret: true}}
	result := b.do(r)
	if result.Outcome != run.OutcomeFailed || result.Diagnosis == nil {
		t.Fatalf("%+v", result)
	}
	want := &run.Diagnosis{Summary: "Resource precondition failed", Detail: "the word is (sensitive)"}
	got := *result.Diagnosis
	got.Address = ""
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := b.succeed(b.stack("good", run.OperationPlan, program(`output "o" { value = 1 }`))); r.Diagnosis != nil {
		t.Errorf("a success has a diagnosis: %+v", r.Diagnosis)
	}
}
