// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// keptRuns have the record of the last apply.
type keptRuns struct{ kept }

func (keptRuns) LockFile(context.Context, run.Stack) ([]byte, error) { return nil, nil }

// A destruction without a source uses the inputs of the last apply, within the limits of this server.
func TestTheInputsOfTheLastApplyAreUsedAgain(t *testing.T) {
	limits := run.DefaultLimits()
	draft := func(last run.Record) (*run.Record, error) {
		obj := stackObject(func(o *infrav1.Terraform) { o.Status.LastAppliedRun = "r1" })
		p := &decided{gathered: passOver(obj).gathered, decision: decide.Decision{Verb: decide.VerbPlanAndApply, Purpose: string(run.PurposeDelete), Destroy: true, UseKept: true}}
		return runDrafts{keptRuns{kept{records: map[string]run.Record{"r1": last}}}, limits, nil}.newRecord(t.Context(), p)
	}
	spec := run.Spec{ID: "r1", Backend: run.Backend{Kind: run.BackendManaged}, Env: []run.EnvVar{{Name: "KEY"}}, Limits: run.Limits{Network: run.HostNetwork}}
	rec, err := draft(run.Record{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Spec.Env) != 1 || rec.Spec.Limits.Network != limits.Network || rec.Spec.Limits.StateBytes != limits.StateBytes {
		t.Errorf("the run is %+v", rec.Spec)
	}
	// An import takes over no inputs of a run that worked on another state.
	if _, err := draft(run.Record{Spec: run.Spec{ID: "r1"}}); err == nil || !strings.Contains(err.Error(), "used another state") {
		t.Errorf("a run of another state: %v", err)
	}
}
