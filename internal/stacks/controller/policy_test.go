// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// boundBy are policies that only identify themselves.
type boundBy struct {
	set string
	err error
}

func (b boundBy) Bind(context.Context, *infrav1.Terraform) (string, error) { return b.set, b.err }

func (boundBy) Judge(context.Context, *infrav1.Terraform, run.Record, []byte) (*infrav1.PolicyVerdict, error) {
	return nil, errors.New("judged while an apply asks for permission")
}

func (boundBy) BeforePlan(context.Context, *infrav1.Terraform, string, func(context.Context) (*reads.Declared, error)) (bool, Refusal, error) {
	return false, Refusal{}, errors.New("judged while an apply asks for permission")
}

func (boundBy) AfterInit(context.Context, *infrav1.Terraform, run.Record, *run.Installed) (Refusal, error) {
	return Refusal{}, errors.New("judged while an apply asks for permission")
}

func (boundBy) Applying(context.Context, *infrav1.Terraform, run.Record) error { return nil }

func TestPolicyObjections(t *testing.T) {
	const digest = "sha256:plan"
	auto := func(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanAuto }
	deletes := func(r *run.Record) { r.Spec.Purpose = run.PurposeDelete }
	approved := func(t *infrav1.Terraform) { t.Spec.ApprovePlan = planID }
	allowed := func(t *infrav1.Terraform) { t.Annotations = map[string]string{infrav1.AnnotationApproved: planID} }
	says := func(d infrav1.PolicyDecision, but ...func(*infrav1.PolicyVerdict)) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			v := &infrav1.PolicyVerdict{Decision: d, Message: "safe: no-destroy", Set: "set-1", Plan: digest}
			for _, change := range but {
				change(v)
			}
			t.Status.Plan.Policy = v
		}
	}
	const (
		stale = "its policies have changed since they judged the plan"
		late  = "a policy binds the stack since the run began"
		held  = "policies do not free the plan, and its approval was withdrawn: safe: no-destroy"
	)
	for sentence, test := range map[string]struct {
		policies boundBy
		obj      []func(*infrav1.Terraform)
		rec      func(*run.Record)
		want     string
	}{
		"no policy binds the stack":                   {boundBy{}, []func(*infrav1.Terraform){auto}, nil, ""},
		"the policies are not known":                  {boundBy{err: errors.New("not read yet")}, []func(*infrav1.Terraform){auto}, nil, "its policies are not known: not read yet"},
		"freed":                                       {boundBy{set: "set-1"}, []func(*infrav1.Terraform){byPolicy, says(infrav1.PolicyFreed)}, nil, ""},
		"not judged":                                  {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto}, nil, stale},
		"judged by other policies":                    {boundBy{set: "set-2"}, []func(*infrav1.Terraform){byPolicy, says(infrav1.PolicyFreed)}, nil, stale},
		"another plan was judged":                     {boundBy{set: "set-1"}, []func(*infrav1.Terraform){byPolicy, says(infrav1.PolicyFreed, func(v *infrav1.PolicyVerdict) { v.Plan = "sha256:other" })}, nil, stale},
		"the run applies other bytes":                 {boundBy{set: "set-1"}, []func(*infrav1.Terraform){byPolicy, says(infrav1.PolicyFreed)}, func(r *run.Record) { r.Spec.Plan.Digest = "sha256:other" }, stale},
		"the verdict has ended":                       {boundBy{set: "set-1"}, []func(*infrav1.Terraform){byPolicy, says(infrav1.PolicyFreed, func(v *infrav1.PolicyVerdict) { v.Until = &metav1.Time{Time: finished} })}, nil, stale},
		"a decision that this version does not know":  {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto, says("Blessed")}, nil, stale},
		"refused, whoever approves":                   {boundBy{set: "set-1"}, []func(*infrav1.Terraform){approved, says(infrav1.PolicyRefused)}, nil, "policies refuse the plan: safe: no-destroy"},
		"held, and approved by its id":                {boundBy{set: "set-1"}, []func(*infrav1.Terraform){approved, says(infrav1.PolicyHeld)}, nil, ""},
		"held, and approved by the annotation":        {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto, allowed, says(infrav1.PolicyHeld)}, nil, ""},
		"held, and nobody approves":                   {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto, says(infrav1.PolicyHeld)}, nil, held},
		"held, and force":                             {boundBy{set: "set-1"}, []func(*infrav1.Terraform){func(t *infrav1.Terraform) { t.Spec.Force = true }, says(infrav1.PolicyHeld)}, nil, held},
		"passed in mode auto":                         {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto, says(infrav1.PolicyPassed)}, nil, ""},
		"passed in mode policy":                       {boundBy{set: "set-1"}, []func(*infrav1.Terraform){byPolicy, says(infrav1.PolicyPassed)}, nil, held},
		"passed in mode policy, and approved":         {boundBy{set: "set-1"}, []func(*infrav1.Terraform){byPolicy, allowed, says(infrav1.PolicyPassed)}, nil, ""},
		"mode policy without policies":                {boundBy{}, []func(*infrav1.Terraform){byPolicy}, nil, "no policy frees the plan, and its approval was withdrawn"},
		"mode policy without policies, and approved":  {boundBy{}, []func(*infrav1.Terraform){byPolicy, allowed}, nil, ""},
		"a run without a plan that began before":      {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto}, func(r *run.Record) { r.Spec.Plan = nil }, late},
		"a deletion that nobody objects to":           {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto, says(infrav1.PolicyPassed)}, deletes, ""},
		"a deletion that is held":                     {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto, says(infrav1.PolicyHeld)}, deletes, held},
		"a deletion that is held, and approved":       {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto, allowed, says(infrav1.PolicyHeld)}, deletes, ""},
		"a deletion that is refused":                  {boundBy{set: "set-1"}, []func(*infrav1.Terraform){allowed, says(infrav1.PolicyRefused)}, deletes, "policies refuse the plan: safe: no-destroy"},
		"a deletion that passes in mode policy":       {boundBy{set: "set-1"}, []func(*infrav1.Terraform){byPolicy, says(infrav1.PolicyPassed)}, deletes, ""},
		"a deletion that began before the policy":     {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto}, func(r *run.Record) { r.Spec.Plan, r.Spec.Purpose = nil, run.PurposeDelete }, late},
		"a deletion in mode policy, without policies": {boundBy{}, []func(*infrav1.Terraform){byPolicy}, func(r *run.Record) { r.Spec.Plan, r.Spec.Purpose = nil, run.PurposeDelete }, ""},
		"manual work is not judged":                   {boundBy{set: "set-1"}, []func(*infrav1.Terraform){auto}, func(r *run.Record) { r.Spec.Operation = run.OperationShell }, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			rec := ran(run.OperationApply, run.Result{}).rec
			rec.Spec.Plan = &run.PlanRef{ID: planID, Digest: digest}
			if test.rec != nil {
				test.rec(&rec)
			}
			obj := stackObject(append([]func(*infrav1.Terraform){planPending, func(t *infrav1.Terraform) { t.Status.Plan.Digest = digest }}, test.obj...)...)
			j := policyJudge{policies: test.policies, now: func() time.Time { return finished }}
			if got := j.policyObjection(t.Context(), obj, rec); got != test.want {
				t.Errorf("objection %q, want %q", got, test.want)
			}
		})
	}
}

// refusing are policies that judge the configuration before the plan.
type refusing struct {
	boundBy
	inRun   bool
	refused string
}

func (r refusing) BeforePlan(context.Context, *infrav1.Terraform, string, func(context.Context) (*reads.Declared, error)) (bool, Refusal, error) {
	return r.inRun, Refusal{Message: r.refused}, nil
}

func TestWhatPeopleRequestIsOnlyExecutedWithTheAnswerOfPolicies(t *testing.T) {
	known := &reads.Configuration{Digest: "sha256:config"}
	for sentence, test := range map[string]struct {
		policies Policies
		config   *reads.Configuration
		inRun    bool
		want     string
	}{
		"there are no policies":                {nil, known, false, ""},
		"no policy binds the stack":            {boundBy{}, known, false, ""},
		"the policies are not known":           {boundBy{err: errors.New("not read yet")}, known, false, "no run starts while its policies are not known: not read yet"},
		"no policy judges before the plan":     {refusing{boundBy: boundBy{set: "set-1"}}, known, false, ""},
		"one does, and asks again in the run":  {refusing{boundBy: boundBy{set: "set-1"}, inRun: true}, known, true, ""},
		"one refuses":                          {refusing{boundBy: boundBy{set: "set-1"}, inRun: true, refused: "safe: no-external-data"}, known, false, "nothing of it was executed: safe: no-external-data"},
		"only the run knows the configuration": {refusing{boundBy: boundBy{set: "set-1"}, refused: "not asked"}, nil, true, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &gathered{config: test.config}
			p.obj = stackObject()
			inRun, err := policyJudge{policies: test.policies}.mayExecute(t.Context(), p)
			var refused *run.RefusedError
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if said := fmt.Sprint(err); inRun != test.inRun || (err == nil) != (test.want == "") || err != nil && !strings.Contains(said, test.want) {
				t.Errorf("in the run: %t, %s", inRun, said)
			}
		})
	}
}
