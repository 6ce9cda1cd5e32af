// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"crypto/rand"
	"encoding/base64"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// largePlan is the minimum size of the plan after compression.
const largePlan = 64 << 20

// Makes, ships, fetches and applies a plan of 64 MiB of random, incompressible text.
func TestAPlanOf64MiBGoesThrough(t *testing.T) {
	b := newBench(t).start()
	random := make([]byte, largePlan)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	r := b.stack("large", run.OperationPlan, map[string]string{
		"main.tf": `resource "terraform_data" "large" { input = file("${path.module}/text") }`,
		"text":    base64.StdEncoding.EncodeToString(random),
	})
	planned := b.succeed(r)
	if planned.Plan.Size < largePlan || int64(len(r.savedPlan)) != planned.Plan.Size || spool.Digest(r.savedPlan) != planned.Plan.Digest {
		t.Fatalf("the plan has %d bytes, %d were shipped", planned.Plan.Size, len(r.savedPlan))
	}
	apply := r.again(run.OperationApply)
	apply.plan, apply.spec.Plan = r.savedPlan, &run.PlanRef{ID: "plan-1", RunID: r.spec.ID, Digest: planned.Plan.Digest}
	if result := b.succeed(apply); !result.Applied || len(apply.lastState()) < len(random) {
		t.Errorf("%+v, the state has %d bytes", result, len(apply.lastState()))
	}
}
