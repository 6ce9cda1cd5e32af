// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// Earlier versions recorded a digest of the whole archive, which must still count.
func TestDigestsOfEarlierVersionsAreRecognized(t *testing.T) {
	const old = "sha256:whole"
	obj, now := stackObject(), reads.Configuration{Digest: "sha256:part", Whole: old}
	p := passOver(obj)
	p.config = &now
	p.facts = decide.Facts{Config: now.Digest, Stack: decide.Stack{PlannedConfig: old}, Pending: &decide.Plan{Config: old},
		Current: &decide.Run{Config: old}, Last: &decide.Run{Config: "sha256:another"}}
	p.recognize()
	f := p.facts
	if f.Stack.PlannedConfig != f.Config || f.Pending.Config != f.Config || f.Current.Config != f.Config || f.Last.Config != "sha256:another" {
		t.Errorf("%+v", f)
	}
	obj.Status.ConfigDigest = old
	rec := run.Record{Config: now.Digest, WholeConfig: now.Whole, Result: &run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}}}
	setReady(obj, "True", infrav1.ReasonApplied, "")
	if worthRecording(obj, rec) {
		t.Error("a pass that finds nothing writes the new digest only to have it written")
	}
	obj.Status.ConfigDigest, rec.WholeConfig = "", ""
	if !worthRecording(obj, rec) {
		t.Error("the first plan after all was forgotten is not recorded")
	}
}

func TestUnrelatedRevisionsAreNotWritten(t *testing.T) {
	for sentence, test := range map[string]struct {
		whole      string
		dependants []infrav1.Terraform
		want       string
	}{
		"a revision that does not touch the stack":             {"sha256:whole", nil, "old"},
		"a revision that a dependant waits for":                {"sha256:whole", []infrav1.Terraform{sourced("live")}, revision},
		"a revision with a dependant that uses another source": {"sha256:whole", []infrav1.Terraform{sourced("other")}, "old"},
		"a revision with the same archive":                     {"", nil, revision},
	} {
		obj := sourced("live")
		obj.Status.ConfigDigest, obj.Status.LastPlannedRevision = "sha256:c", "old"
		p := passOver(&obj)
		p.dependants = test.dependants
		p.config = &reads.Configuration{Whole: test.whole}
		p.facts = decide.Facts{Config: "sha256:c", Source: decide.Source{Ready: true, Revision: revision}}
		p.describeAs(decide.Decision{Verb: decide.VerbRest})
		if got := obj.Status.LastPlannedRevision; got != test.want {
			t.Errorf("%s: planned %q, want %q", sentence, got, test.want)
		}
	}
}

func sourced(name string) infrav1.Terraform {
	return *stackObject(func(t *infrav1.Terraform) {
		t.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: name}
	})
}

// An idle stack learns its modules from its next drift check, without an extra plan.
func TestQuietPassesReportModules(t *testing.T) {
	checked := metav1.NewTime(finished.Add(-time.Minute))
	obj := stackObject(func(t *infrav1.Terraform) {
		t.Status.ConfigDigest, t.Status.LastDriftCheckAt = "sha256:whole", &checked
	})
	setReady(obj, metav1.ConditionTrue, infrav1.ReasonNoDrift, "")
	rec := run.Record{Config: "sha256:whole", SettledConfig: "sha256:settled",
		Result: &run.Result{Outcome: run.OutcomeSucceeded, Finished: finished, Plan: &run.PlanResult{}, Modules: &run.Modules{}}}
	if worthRecording(obj, rec) {
		t.Error("a pass that found nothing is recorded")
	}
	leaveTrace(obj, rec)
	if obj.Status.ConfigDigest != rec.SettledConfig || obj.Status.LastPlanAt != nil {
		t.Errorf("%+v", obj.Status)
	}
	// Newer modules that read more count with everything they read.
	rec.Config, rec.Result.Modules = rec.SettledConfig, &run.Modules{Moves: "far", Whole: "x"}
	if leaveTrace(obj, rec); obj.Status.Modules.Whole != "x" {
		t.Errorf("%+v", obj.Status.Modules)
	}
}

// If modules have not moved, the status follows the revision, and nothing else changes.
func TestUnmovedModulesUpdateOnlyTheRevision(t *testing.T) {
	obj := stackObject()
	record(obj, ran(run.OperationPlan, noChanges))
	before := obj.DeepCopy()
	rec := run.Record{Config: "sha256:after", SettledConfig: "sha256:s", Result: &run.Result{Outcome: run.OutcomeSucceeded, Finished: finished, SameModules: true}}
	rec.Spec.Artifact.Revision = "main@sha1:two"
	if !worthRecording(obj, rec) {
		t.Error("the revision is not recorded")
	}
	record(obj, outcome{rec: rec})
	if obj.Status.ConfigDigest != rec.Config || obj.Status.LastPlannedRevision != "main@sha1:two" || obj.Status.LastAttemptedRevision != "main@sha1:two" {
		t.Errorf("%+v", obj.Status)
	}
	setReady(before, metav1.ConditionTrue, infrav1.ReasonPlannedNoChanges, "Plan no changes: main@sha1:two")
	if diff := cmp.Diff(before.Status.Conditions, obj.Status.Conditions); diff != "" || !cmp.Equal(before.Status.LastPlanAt, obj.Status.LastPlanAt) || !cmp.Equal(before.Status.Modules, obj.Status.Modules) {
		t.Errorf("the status mentions a plan: %s, %+v", diff, obj.Status)
	}
}

func TestUnrelatedCommitsWithSettledModules(t *testing.T) {
	was, is := known{inputs: run.Inputs{Unsettled: "sha256:p"}, artifact: run.Artifact{Digest: "a"}, spec: &run.Spec{}}, known{inputs: run.Inputs{Part: "sha256:p"}, artifact: run.Artifact{Digest: "b"}, spec: &run.Spec{}}
	if changes := changedInputs(was, is); len(changes) != 1 || !changes[0].Untouched {
		t.Errorf("%+v", changes)
	}
	if changes := changedInputs(was, was); len(changes) != 0 {
		t.Errorf("%+v", changes)
	}
}
