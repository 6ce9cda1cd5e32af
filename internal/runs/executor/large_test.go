// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// A plan of 64 MiB, and an archive of that size, come back as they were given.
func TestPlansAndArchivesOf64MiBAreKept(t *testing.T) {
	h := newHome(t)
	data := make([]byte, 64<<20)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	digest, size, err := h.blobs.PutArtifact(t.Context(), bytes.NewReader(data), 64<<20)
	if err != nil || size != int64(len(data)) {
		t.Fatalf("stored %d bytes, %v", size, err)
	}
	plan := h.record("r1")
	plan.Spec.Operation, plan.Spec.Limits, plan.Spec.Artifact = run.OperationPlan, run.DefaultLimits(), run.Artifact{Digest: digest, Size: size}
	h.started(plan)
	if got := h.raw(h.of("r1", "GET", "/artifact")); !bytes.Equal(got, data) {
		t.Errorf("the archive comes back with %d bytes", len(got))
	}
	h.mustDo(http.StatusNoContent, h.of("r1", "PUT", "/plan", data))
	h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}})
	h.active = nil
	apply := h.record("r2")
	apply.Spec.Operation, apply.Spec.Plan = run.OperationApply, &run.PlanRef{ID: "plan-1", RunID: "r1"}
	h.started(apply)
	if got := h.raw(h.of("r2", "GET", "/plan")); !bytes.Equal(got, data) {
		t.Errorf("the plan comes back with %d bytes", len(got))
	}
}

// raw returns the bytes of an answer.
func (h *home) raw(r request) []byte {
	h.t.Helper()
	status, body := h.do(r)
	if status != http.StatusOK {
		h.t.Fatalf("%s %s: answered %d", r.method, r.path, status)
	}
	return []byte(body)
}
