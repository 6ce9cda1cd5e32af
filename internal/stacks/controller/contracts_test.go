// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// fixedContracts only identify themselves, and what has moved.
type fixedContracts struct {
	set, moved string
	err        error
}

func (c fixedContracts) Consume(context.Context, *infrav1.Terraform, func(string) (*module.Variable, bool), map[string]map[string]json.RawMessage) (*Consumed, error) {
	return nil, errors.New("resolved while an apply asks for permission")
}

func (c fixedContracts) Moved(context.Context, *infrav1.Terraform, []run.Pin) (string, error) {
	return c.moved, nil
}
func (c fixedContracts) Set(context.Context, *infrav1.Terraform) (string, error) { return c.set, c.err }

func (c fixedContracts) Judge(context.Context, *infrav1.Terraform, map[string]json.RawMessage, bool) ([]infrav1.ContractVerdict, error) {
	return nil, errors.New("judged while an apply asks for permission")
}

func (c fixedContracts) Publish(context.Context, *infrav1.Terraform, AppliedOutputs) (*PublishedOutputs, error) {
	return nil, errors.New("published before an apply")
}

func (c fixedContracts) Needed(context.Context, *infrav1.Terraform) ([]string, error) {
	return nil, nil
}
func (c fixedContracts) Forget(context.Context, *infrav1.Terraform) error { return nil }

func TestContractObjections(t *testing.T) {
	const digest = "sha256:plan"
	publishing := func(t *infrav1.Terraform) {
		t.Spec.Publishes = []infrav1.Publication{{Contract: "base", Version: "1.0.0", Value: "base"}}
	}
	says := func(outcome infrav1.ContractOutcome, but ...func(*infrav1.PlanContracts)) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			c := &infrav1.PlanContracts{Set: "set-1", Plan: digest, Verdicts: []infrav1.ContractVerdict{{Contract: "base", Outcome: outcome}}}
			for _, change := range but {
				change(c)
			}
			t.Status.Plan.Contracts = c
		}
	}
	auto := func(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanAuto }
	approved := func(t *infrav1.Terraform) { t.Spec.ApprovePlan = planID }
	allowed := func(t *infrav1.Terraform) { t.Annotations = map[string]string{infrav1.AnnotationApproved: planID} }
	pinned := func(r *run.Record) { r.Pins = []run.Pin{{As: "base", Part: "sha256:1"}} }
	const (
		stale  = "its contracts or their consumers have changed since the plan was checked"
		breaks = "the plan breaks a contract, and its approval was withdrawn"
	)
	for sentence, test := range map[string]struct {
		contracts Contracts
		obj       []func(*infrav1.Terraform)
		rec       func(*run.Record)
		want      string
	}{
		"no contracts on this API":               {nil, []func(*infrav1.Terraform){publishing}, nil, ""},
		"it publishes nothing":                   {fixedContracts{}, []func(*infrav1.Terraform){auto}, nil, ""},
		"it fits":                                {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){auto, publishing, says(infrav1.ContractFits)}, nil, ""},
		"it is unknown until the apply":          {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){auto, publishing, says(infrav1.ContractUnknown)}, nil, ""},
		"it was not checked":                     {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){auto, publishing}, nil, stale},
		"there is another consumer":              {fixedContracts{set: "set-2"}, []func(*infrav1.Terraform){auto, publishing, says(infrav1.ContractFits)}, nil, stale},
		"another plan was checked":               {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){auto, publishing, says(infrav1.ContractFits, func(c *infrav1.PlanContracts) { c.Plan = "sha256:other" })}, nil, stale},
		"the run applies other bytes":            {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){auto, publishing, says(infrav1.ContractFits)}, func(r *run.Record) { r.Spec.Plan.Digest = "sha256:other" }, stale},
		"it breaks, and nobody approves":         {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){auto, publishing, says(infrav1.ContractBreaks)}, nil, breaks},
		"it breaks, and is approved by its id":   {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){approved, publishing, says(infrav1.ContractBreaks)}, nil, ""},
		"it breaks, and is approved beside auto": {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){auto, allowed, publishing, says(infrav1.ContractBreaks)}, nil, ""},
		"a run without a plan that began before": {fixedContracts{set: "set-1"}, []func(*infrav1.Terraform){auto, publishing}, func(r *run.Record) { r.Spec.Plan = nil }, "the stack publishes contracts since the run began"},
		"what it read has moved":                 {fixedContracts{moved: "contract base has changed"}, []func(*infrav1.Terraform){approved}, pinned, "contract base has changed"},
		"what it read is current":                {fixedContracts{}, []func(*infrav1.Terraform){approved}, pinned, ""},
		"the contracts are not known":            {fixedContracts{err: errors.New("not read yet")}, []func(*infrav1.Terraform){auto, publishing}, nil, "its contracts are not known: not read yet"},
		"a deletion":                             {fixedContracts{set: "set-1", moved: "moved"}, []func(*infrav1.Terraform){auto, publishing}, func(r *run.Record) { pinned(r); r.Spec.Purpose = run.PurposeDelete }, ""},
		"manual work":                            {fixedContracts{set: "set-1", moved: "moved"}, []func(*infrav1.Terraform){auto, publishing}, func(r *run.Record) { pinned(r); r.Spec.Operation = run.OperationShell }, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			rec := ran(run.OperationApply, run.Result{}).rec
			rec.Spec.Plan = &run.PlanRef{ID: planID, Digest: digest}
			if test.rec != nil {
				test.rec(&rec)
			}
			obj := stackObject(append([]func(*infrav1.Terraform){planPending, func(t *infrav1.Terraform) { t.Status.Plan.Digest = digest }}, test.obj...)...)
			got, err := contractBook{contracts: test.contracts}.objection(t.Context(), obj, rec)
			if err != nil || got != test.want {
				t.Errorf("objection %q, want %q (%v)", got, test.want, err)
			}
		})
	}
}

func TestPlannedOutputsAreAskedForWhatIsPublished(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) {
		t.Spec.Publishes = []infrav1.Publication{{Contract: "base", Version: "1.0.0", Value: "base"}, {Contract: "base", Version: "2.0.0", Value: "base_v2"}, {Contract: "old", Version: "1.0.0", Value: "base"}}
	})
	for _, test := range []struct {
		contracts decide.Contracts
		spec      run.Spec
		want      []string
	}{
		{decide.Contracts{Bound: true}, run.Spec{Operation: run.OperationPlan}, []string{"base", "base_v2"}},
		{decide.Contracts{}, run.Spec{Operation: run.OperationPlan}, nil},
		{decide.Contracts{Bound: true}, run.Spec{Operation: run.OperationApply}, nil},
		{decide.Contracts{Bound: true}, run.Spec{Operation: run.OperationPlanAndApply, Purpose: run.PurposeDelete}, nil},
	} {
		s := test.spec
		askForContracts(&s, obj, test.contracts)
		if diff := cmp.Diff(test.want, s.PlanOutputs); diff != "" || s.Describe != (test.want != nil) {
			t.Errorf("%+v: describe %v, %s", test.spec, s.Describe, diff)
		}
	}
}

func TestWhatWasReadIsRecorded(t *testing.T) {
	obj := stackObject(planPending)
	o := ran(run.OperationPlanAndApply, run.Result{Outcome: run.OutcomeSucceeded, Applied: true, Finished: finished})
	o.rec.Pins = []run.Pin{{As: "base", Contract: "base", From: "prod/network", Version: "1.2.0", Number: 3, Part: "sha256:1"}}
	recordApplied(obj, o)
	if c := obj.Status.Contracts; c == nil || len(c.Consumes) != 1 || c.Consumes[0].Read == nil || c.Consumes[0].Read.Number != 3 || obj.Status.Plan.Contracts != nil {
		t.Errorf("the status has %+v", c)
	}
}

func TestAnUnpublishedContractKeepsTheStackFromBeingReady(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) {
		t.Status.Contracts = &infrav1.ContractsStatus{Problem: "base.vpc_id is missing"}
	})
	setReady(obj, metav1.ConditionTrue, infrav1.ReasonApplied, "Applied")
	p := &acted{}
	p.obj = obj
	describeContracts(p)
	if ready := conditions.Of(obj, infrav1.ConditionReady); ready.Status != metav1.ConditionFalse || ready.Reason != infrav1.ReasonContractBroken || ready.Message != "base.vpc_id is missing" {
		t.Errorf("Ready is %+v", ready)
	}
	obj.Status.Contracts.Problem = ""
	describeContracts(p)
	if ready := conditions.Of(obj, infrav1.ConditionReady); ready.Status != metav1.ConditionTrue || obj.Status.Contracts != nil {
		t.Errorf("Ready is %+v", ready)
	}
}

func TestTheStatusNamesWhoApprovedTheAppliedPlan(t *testing.T) {
	judged := func(t *infrav1.Terraform) {
		t.Status.Plan.Policy = &infrav1.PolicyVerdict{Plan: "sha256:p", Bound: "sha256:b", Decision: infrav1.PolicyApproved}
		t.Status.Plan.Approvals = []infrav1.PlanApproval{{User: "ada", Bound: "sha256:b"}, {User: "eve", Bound: "sha256:before"}, {User: "bob", Bound: "sha256:b"}}
	}
	withDigest := func(digest string) func(*run.Record) {
		return func(r *run.Record) { r.Spec.Plan.Digest = digest }
	}
	for sentence, test := range map[string]struct {
		obj     *infrav1.Terraform
		outcome outcome
		want    string
	}{
		"people approved what was applied":      {stackObject(planPending, judged), ran(run.OperationApply, applied, withDigest("sha256:p")), "ada, bob"},
		"other bytes were judged":               {stackObject(planPending, judged), ran(run.OperationApply, applied, withDigest("sha256:other")), ""},
		"no policy judged it":                   {stackObject(planPending), ran(run.OperationApply, applied, withDigest("sha256:p")), ""},
		"it was planned and applied in one run": {stackObject(judged), ran(run.OperationPlanAndApply, applied), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.obj.Status.Plan.LastApprovedBy = "somebody before"
			recordApplied(test.obj, test.outcome)
			if p := test.obj.Status.Plan; p.LastApprovedBy != test.want || p.Approvals != nil {
				t.Errorf("approved by %q, want %q; %v is left", p.LastApprovedBy, test.want, p.Approvals)
			}
		})
	}
}

// A version that breaks consumers is published if people approved its plan, in either way.
func TestWhoApprovedTheLastPlan(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*infrav1.Terraform)
		want   bool
	}{
		"nobody":                                 {func(*infrav1.Terraform) {}, false},
		"a person, by its name":                  {func(o *infrav1.Terraform) { o.Spec.ApprovePlan = "plan-1" }, true},
		"a person, another plan":                 {func(o *infrav1.Terraform) { o.Spec.ApprovePlan = "plan-2" }, false},
		"people, whose approvals were recorded":  {func(o *infrav1.Terraform) { o.Status.Plan.LastApprovedBy = "ann, bob" }, true},
		"people, and then the next plan came up": {func(o *infrav1.Terraform) { o.Status.Plan.LastApprovedBy, o.Status.Plan.Pending = "ann", "plan-2" }, true},
		"a plan that applies automatically":      {func(o *infrav1.Terraform) { o.Spec.ApprovePlan = "auto" }, false},
	} {
		obj := &infrav1.Terraform{}
		obj.Status.Plan.LastApplied = "plan-1"
		c.change(obj)
		if got := approvedLast(obj); got != c.want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
}
