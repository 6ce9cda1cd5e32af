// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"testing"

	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestWhereAStateIs(t *testing.T) {
	there := &infrav1.BackendStatus{Location: "s3 bucket=a key=b"}
	for what, c := range map[string]struct {
		status infrav1.TerraformStatus
		want   string
	}{
		"nothing was applied yet":                      {infrav1.TerraformStatus{}, ""},
		"Yuba keeps it":                                {infrav1.TerraformStatus{StateSerial: ptr.To[int64](3), LastAppliedRevision: "r"}, "yuba"},
		"there was only a plan":                        {infrav1.TerraformStatus{StateSerial: ptr.To[int64](0)}, ""},
		"a failed apply left one":                      {infrav1.TerraformStatus{StateSerial: ptr.To[int64](1), LastFailedApply: &infrav1.RunReference{}}, "yuba"},
		"a custom backend":                             {infrav1.TerraformStatus{Backend: there}, there.Location},
		"a custom backend, after Yuba's own":           {infrav1.TerraformStatus{Backend: there, StateSerial: ptr.To[int64](3), LastAppliedRevision: "r"}, there.Location},
		"a custom backend of an earlier release: none": {infrav1.TerraformStatus{LastAppliedRevision: "r"}, ""},
	} {
		if got, known := stateAt(&infrav1.Terraform{Status: c.status}); got != c.want || known != (c.want != "") {
			t.Errorf("%s: %q %v", what, got, known)
		}
	}
}

// TestOnlyACompleteMigrationMovesAStack: whatever else a migration ends with, the stack stays with the
// former backend.
func TestOnlyACompleteMigrationMovesAStack(t *testing.T) {
	was, is := infrav1.BackendStatus{Location: "yuba"}, infrav1.BackendStatus{Location: "s3 bucket=a key=b"}
	there, err := json.Marshal(is)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		outcome run.Outcome
		preview bool
		want    string
	}{
		{run.OutcomeSucceeded, false, is.Location},
		{run.OutcomeSucceeded, true, was.Location},
		{run.OutcomeFailed, false, was.Location},
		{run.OutcomeInterrupted, false, was.Location},
		{run.OutcomeCanceled, false, was.Location},
	} {
		obj := &infrav1.Terraform{Status: infrav1.TerraformStatus{Backend: was.DeepCopy()}}
		takeMigration(obj, run.Record{Result: &run.Result{Outcome: c.outcome}, Spec: run.Spec{
			StateChange: &run.StateChange{Verb: run.StateMigrate, Preview: c.preview, Migration: &run.Migration{Destination: there}}}})
		if got := obj.Status.Backend.Location; got != c.want {
			t.Errorf("%s, preview %v: %s", c.outcome, c.preview, got)
		}
	}
}

func TestTheBackendOfAnApplyIsRecorded(t *testing.T) {
	record := func(kind run.BackendKind, location string, generation int64, result run.Result) run.Record {
		return run.Record{Generation: generation, Result: &result, Spec: run.Spec{Backend: run.Backend{Kind: kind, Location: location}}}
	}
	applied := run.Result{Outcome: run.OutcomeSucceeded, Applied: true}
	for what, c := range map[string]struct {
		rec  run.Record
		want bool
	}{
		"applied":                         {record(run.BackendOwn, "gcs bucket=a", 2, applied), true},
		"no changes":                      {record(run.BackendOwn, "gcs bucket=a", 2, run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}}), true},
		"changes, which wait":             {record(run.BackendOwn, "gcs bucket=a", 2, run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}}), false},
		"the spec has changed meanwhile":  {record(run.BackendOwn, "gcs bucket=a", 1, applied), false},
		"Yuba's own store, as for others": {record(run.BackendManaged, "yuba", 2, applied), false},
		"a run of an earlier release":     {record(run.BackendOwn, "", 2, applied), false},
	} {
		obj := &infrav1.Terraform{}
		obj.Generation = 2
		learnBackend(obj, c.rec)
		if (obj.Status.Backend != nil) != c.want {
			t.Errorf("%s: %+v", what, obj.Status.Backend)
		}
	}
}
