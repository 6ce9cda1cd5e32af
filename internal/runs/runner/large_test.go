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

// largePlan is how large a plan must be for these tests, whatever tofu makes of it when it packs it.
const largePlan = 64 << 20

// A plan of 64 MiB is made, shipped, fetched and applied. Random text is what packing cannot make small.
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
