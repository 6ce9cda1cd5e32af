// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	verdicts "github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/plantest"
)

// planStore has one planned run of each stack, by name.
type planStore map[string][]byte

func (s planStore) Record(_ context.Context, stack run.Stack, id string) (run.Record, error) {
	if _, ok := s[stack.Name]; !ok || id != "run-1" {
		return run.Record{}, run.ErrNotFound
	}
	return run.Record{Created: time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC), Spec: run.Spec{ID: "run-1", Stack: stack, Purpose: run.PurposeDeploy, PlanDocument: true},
		Result: &run.Result{Plan: &run.PlanResult{Changes: true, Digest: "sha256:1"}}}, nil
}

func (s planStore) List(ctx context.Context, stack run.Stack, _ int) ([]run.Record, error) {
	rec, err := s.Record(ctx, stack, "run-1")
	if err != nil {
		return nil, nil
	}
	return []run.Record{{Spec: run.Spec{ID: "run-2", Stack: stack, Plan: &run.PlanRef{RunID: "run-1"}}, Result: &run.Result{Applied: true}}, rec}, nil
}

func (s planStore) ReadPart(_ context.Context, stack run.Stack, id, part string) ([]byte, error) {
	if text := s[stack.Name]; text != nil && id == "run-1" && part == run.BlobPlanShow {
		return text, nil
	}
	return nil, run.ErrNotFound
}

func TestPoliciesAreTriedOnTheLastPlans(t *testing.T) {
	c, ns := apitest.Client(t), apitest.Namespace(t)
	with := plantest.Files{"main.tf": `resource "terraform_data" "a" {}`}
	create := plantest.Make(t, plantest.Case{Files: with}).Show
	destroy := plantest.Make(t, plantest.Case{Before: with, Files: plantest.Files{"main.tf": ""}}).Show
	plans := planStore{"auto-create": create, "auto-destroy": destroy, "policy-create": create, "manual-create": create, "manual-destroy": destroy, "dev-destroy": destroy}
	for name := range plans {
		mode, _, _ := strings.Cut(name, "-")
		obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"env": "prod"}}}
		switch obj.Spec.ApprovePlan = mode; mode {
		case "manual":
			obj.Spec.ApprovePlan = ""
		case "dev":
			obj.Spec.ApprovePlan, obj.Labels["env"] = "auto", "dev"
		}
		obj.Spec.Interval, obj.Spec.Inline = metav1.Duration{Duration: time.Hour}, map[string]string{"main.tf": ""}
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	none := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "never-planned", Labels: map[string]string{"env": "prod"}}}
	none.Spec.Interval, none.Spec.Inline = metav1.Duration{Duration: time.Hour}, map[string]string{"main.tf": ""}
	if err := c.Create(t.Context(), none); err != nil {
		t.Fatal(err)
	}
	noLock := func(context.Context, run.Stack) ([]byte, error) { return nil, nil }
	desk := &policyDesk{policies: &policies{judge: &judge.Judge{Cache: c}, lockFile: noLock, now: time.Now}, runs: plans, stacks: c, turn: make(chan struct{}, 1)}
	const policy = `{apiVersion: yuba.dev/v1alpha1, kind: Policy, metadata: {name: tried}, spec: {selector: {matchLabels: {env: prod}}, enforcement: audit, autoApprove: true, rules: [{builtin: no-destroy}]}}`
	got, err := desk.Try(t.Context(), []byte(policy), ns, "")
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]string{}
	for _, item := range got.Items {
		rules := ""
		for _, f := range item.Findings {
			rules += " " + f.Rule + " " + f.Address
		}
		outcomes[item.Name] = item.Effect + ": " + item.Now + " -> " + item.Then + rules
		if item.Unused {
			outcomes[item.Name] += " (unused)"
		}
	}
	want := map[string]string{
		"auto-create":    "same: applies -> applies",
		"auto-destroy":   "stopped: applies -> waits no-destroy terraform_data.a",
		"policy-create":  "freed: waits -> applies",
		"manual-create":  "same: waits -> waits (unused)",
		"manual-destroy": "same: waits -> waits no-destroy terraform_data.a",
		"never-planned":  "unknown:  -> ",
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Error(diff)
	}
	if got.Passed != 1 || got.Continue != "" {
		t.Errorf("%d stacks are not selected, and it continues with %q; want 1 and nothing", got.Passed, got.Continue)
	}
	rest, err := desk.Try(t.Context(), []byte(policy), ns, ns+"/manual-destroy")
	if err != nil || len(rest.Items) != 2 || rest.Items[1].Name != "policy-create" {
		t.Errorf("behind manual-destroy: %+v %v", rest, err)
	}
	for what, text := range map[string]string{"another kind": "{kind: Pod}", "an unknown rule": strings.Replace(policy, "no-destroy", "no-such", 1), "another namespace": strings.Replace(policy, "name: tried", "name: tried, namespace: other", 1)} {
		if _, err := desk.Try(t.Context(), []byte(text), ns, ""); err == nil {
			t.Errorf("%s: it was tried", what)
		}
	}
	var obj infrav1.Terraform
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "auto-destroy"}, &obj); err != nil {
		t.Fatal(err)
	}
	standing, err := desk.Verdict(t.Context(), &obj, "")
	if s, ok := standing.(judge.Standing); err != nil || !ok || s.Run != "run-1" || s.Pending || s.Outcome != content.TrialApplies || judge.Opinion(*s.Decision) != judge.Passed {
		t.Errorf("the verdict: %+v %v", standing, err)
	}
}

func TestOutcomes(t *testing.T) {
	mode := func(m string) func(*infrav1.Terraform) { return func(t *infrav1.Terraform) { t.Spec.ApprovePlan = m } }
	freed := verdicts.Decision{Outcome: verdicts.OutcomeApply, Reason: verdicts.ReasonFreed}
	passed := verdicts.Decision{Outcome: verdicts.OutcomeWait, Reason: verdicts.ReasonNotFreed}
	held := verdicts.Decision{Outcome: verdicts.OutcomeWait, Reason: verdicts.ReasonViolated}
	refused := verdicts.Decision{Outcome: verdicts.OutcomeRefuse, Reason: verdicts.ReasonDenied}
	for sentence, c := range map[string]struct {
		of   func(*infrav1.Terraform)
		want [4]string
	}{
		"auto":      {mode("auto"), [4]string{content.TrialApplies, content.TrialApplies, content.TrialWaits, content.TrialRefused}},
		"policy":    {mode("policy"), [4]string{content.TrialApplies, content.TrialWaits, content.TrialWaits, content.TrialRefused}},
		"manual":    {mode(""), [4]string{content.TrialWaits, content.TrialWaits, content.TrialWaits, content.TrialRefused}},
		"by name":   {mode("plan-main-1"), [4]string{content.TrialWaits, content.TrialWaits, content.TrialWaits, content.TrialRefused}},
		"forced":    {func(t *infrav1.Terraform) { t.Spec.Force = true }, [4]string{content.TrialApplies, content.TrialApplies, content.TrialWaits, content.TrialRefused}},
		"plan only": {func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }, [4]string{content.TrialNever, content.TrialNever, content.TrialNever, content.TrialNever}},
		"disabled":  {mode("disable"), [4]string{content.TrialNever, content.TrialNever, content.TrialNever, content.TrialNever}},
	} {
		obj := &infrav1.Terraform{}
		c.of(obj)
		got := [4]string{outcomeOf(obj, freed), outcomeOf(obj, passed), outcomeOf(obj, held), outcomeOf(obj, refused)}
		if got != c.want {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}
