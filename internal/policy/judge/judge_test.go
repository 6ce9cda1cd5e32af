// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/testkit/plantest"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// bound is a binding of one policy with rules, "NAME PARAMETERS".
func bound(spec yubav1.PolicySpec, rules ...string) *Binding {
	for _, text := range rules {
		name, with, _ := strings.Cut(text, " ")
		r := yubav1.PolicyRule{Builtin: name}
		if with != "" {
			r.With = &apiextensionsv1.JSON{Raw: []byte(with)}
		}
		spec.Rules = append(spec.Rules, r)
	}
	return &Binding{policies: []*policy{prepare("Policy/n/p", spec, &spec, nil)}}
}

var subject = Subject{Namespace: "n", Name: "s"}

func TestPlansThatNoPolicyFrees(t *testing.T) {
	frees := bound(yubav1.PolicySpec{AutoApprove: true}, "no-destroy")
	two := plantest.Files{"main.tf": "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n"}
	failing := plantest.Files{"main.tf": `
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  lifecycle {
    precondition {
      condition     = length(terraform_data.a) == 0
      error_message = "no"
    }
  }
}`}
	for sentence, c := range map[string]struct {
		plan  plantest.Case
		run   facts.Run
		after func(*facts.Inputs)
		want  decide.Outcome
		says  string
	}{
		"a whole plan is freed":       {plan: plantest.Case{Files: two}, want: decide.OutcomeApply},
		"a targeted plan":             {plan: plantest.Case{Files: two, Args: []string{"-target=terraform_data.a"}}, run: facts.Run{Targets: []string{"terraform_data.a"}}, want: decide.OutcomeWait, says: "targets limit the plan"},
		"a plan that excludes":        {plan: plantest.Case{Files: two, Args: []string{"-exclude=terraform_data.a"}}, run: facts.Run{Excludes: []string{"terraform_data.a"}}, want: decide.OutcomeWait, says: "targets limit the plan"},
		"a plan that ended in errors": {plan: plantest.Case{Files: failing, Fails: true}, want: decide.OutcomeWait, says: "planning ended with an error"},
		"a plan that cannot be read": {plan: plantest.Case{Files: two}, after: func(in *facts.Inputs) { in.Show = in.Show[:len(in.Show)-2] },
			want: decide.OutcomeRefuse, says: "could not be evaluated"},
		"a contract breaks": {plan: plantest.Case{Files: two}, after: func(in *facts.Inputs) {
			in.Contracts = []facts.Contract{{Name: "base", Version: "1.0.0", Verdict: facts.ContractBreaks, Message: "vpc_id is missing"}}
		}, want: decide.OutcomeWait, says: "base"},
	} {
		t.Run(sentence, func(t *testing.T) {
			made := plantest.Make(t, c.plan)
			in := facts.Inputs{Stage: facts.StagePlan, Show: made.Show, LockFile: made.LockFile, ModuleList: made.ModuleList, Run: c.run}
			if c.after != nil {
				c.after(&in)
			}
			d := frees.Plan(subject, "uid", in, noon)
			if d.Outcome != c.want || !strings.Contains(d.Message, c.says) {
				t.Errorf("decided %s: %s; want %s: %s", d.Outcome, d.Message, c.want, c.says)
			}
		})
	}
}

func TestStages(t *testing.T) {
	show := plantest.Make(t, plantest.Case{Files: plantest.Files{"main.tf": `resource "terraform_data" "a" {}`}}).Show
	tree := module.ReadTree(func(string) (map[string][]byte, string) {
		return map[string][]byte{"main.tf": []byte(`data "external" "x" {}`)}, ""
	}, ".", nil)
	configuration, err := facts.Build(facts.Inputs{Stage: facts.StagePrePlan, Declared: tree})
	if err != nil {
		t.Fatal(err)
	}
	pre, plan, drift := yubav1.PolicyPrePlan, yubav1.PolicyPlan, yubav1.PolicyDrift
	for sentence, c := range map[string]struct {
		stages      []yubav1.PolicyStage
		enforcement yubav1.PolicyEnforcement
		effect      yubav1.PolicyEffect
		// judged in: the configuration refused, the plan and the drift found wanting.
		refused, inPlan, inDrift bool
	}{
		"none given":                        {nil, "", yubav1.PolicyDeny, false, true, true},
		"plan":                              {[]yubav1.PolicyStage{plan}, "", yubav1.PolicyDeny, false, true, false},
		"drift":                             {[]yubav1.PolicyStage{drift}, "", yubav1.PolicyDeny, false, false, true},
		"before the plan, so in it, too":    {[]yubav1.PolicyStage{pre}, "", yubav1.PolicyDeny, true, true, false},
		"before the plan, and a person may": {[]yubav1.PolicyStage{pre}, "", yubav1.PolicyRequireApproval, false, true, false},
		"before the plan, audited":          {[]yubav1.PolicyStage{pre, drift}, yubav1.PolicyAudit, yubav1.PolicyDeny, false, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := bound(yubav1.PolicySpec{Stages: c.stages, Enforcement: c.enforcement, OnViolation: c.effect}, "no-external-data", `max-changes {"total":0}`)
			if got := b.Configuration(subject, configuration, nil, noon).Outcome == decide.OutcomeRefuse; got != c.refused {
				t.Errorf("the configuration is refused: %t", got)
			}
			for stage, want := range map[facts.Stage]bool{facts.StagePlan: c.inPlan, facts.StageDrift: c.inDrift} {
				if d := b.Plan(subject, "uid", facts.Inputs{Stage: stage, Show: show}, noon); (len(d.Violations) > 0) != want {
					t.Errorf("in the stage %s: %+v", stage, d.Violations)
				}
			}
		})
	}
}

func TestWhatCannotBeReadIsRefusedBeforeThePlan(t *testing.T) {
	b := bound(yubav1.PolicySpec{Stages: []yubav1.PolicyStage{yubav1.PolicyPrePlan}, OnViolation: yubav1.PolicyDeny}, "no-external-data")
	_, problem := facts.Build(facts.Inputs{Stage: facts.StagePrePlan, Declared: &module.Tree{}, LockFile: []byte("provider {")})
	if problem == nil {
		t.Fatal("a broken lock file has facts")
	}
	if d := b.Configuration(subject, nil, problem, noon); d.Outcome != decide.OutcomeRefuse {
		t.Errorf("decided %+v", d)
	}
	broken := bound(yubav1.PolicySpec{Stages: []yubav1.PolicyStage{yubav1.PolicyPrePlan}, OnViolation: yubav1.PolicyDeny}, "no-such-rule")
	if d := broken.Configuration(subject, &facts.Document{Stage: facts.StagePrePlan}, nil, noon); d.Outcome != decide.OutcomeRefuse {
		t.Errorf("a rule that does not exist: %+v", d)
	}
}

func TestExemptionsConcernStacksRulesAndAddresses(t *testing.T) {
	show := plantest.Make(t, plantest.Case{Before: plantest.Files{"main.tf": "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}"}, Files: plantest.Files{"main.tf": ""}}).Show
	later := metav1.NewTime(noon.Add(time.Hour))
	for sentence, c := range map[string]struct {
		exemption yubav1.PolicyExemption
		left      int
	}{
		"everything":         {yubav1.PolicyExemption{Expires: later}, 0},
		"this stack":         {yubav1.PolicyExemption{Stacks: []string{"n/*"}, Expires: later}, 0},
		"another stack":      {yubav1.PolicyExemption{Stacks: []string{"n/other"}, Expires: later}, 2},
		"one address":        {yubav1.PolicyExemption{Addresses: []string{"terraform_data.a"}, Expires: later}, 1},
		"another rule":       {yubav1.PolicyExemption{Rules: []string{"no-iam"}, Expires: later}, 2},
		"it has expired":     {yubav1.PolicyExemption{Expires: metav1.NewTime(noon)}, 2},
		"it has no end":      {yubav1.PolicyExemption{}, 2},
		"the last of a time": {yubav1.PolicyExemption{Expires: metav1.NewTime(noon.Add(time.Second))}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.exemption.Reason = "ticket 42"
			b := bound(yubav1.PolicySpec{AutoApprove: true, OnViolation: yubav1.PolicyDeny, Exemptions: []yubav1.PolicyExemption{c.exemption}}, "no-destroy")
			d := b.Plan(subject, "uid", facts.Inputs{Stage: facts.StagePlan, Show: show}, noon)
			if len(d.Violations) != c.left || len(d.Exempted) != 2-c.left {
				t.Errorf("violations %+v, exempted %+v", d.Violations, d.Exempted)
			}
			if c.left < 2 && (!d.ValidUntil.Equal(c.exemption.Expires.Time) || d.Exempted[0].Reason != "ticket 42") {
				t.Errorf("until %s: %+v", d.ValidUntil, d.Exempted)
			}
		})
	}
}

func TestApprovalsAreOfWhatWasJudged(t *testing.T) {
	made := plantest.Make(t, plantest.Case{Files: plantest.Files{"main.tf": `resource "terraform_data" "a" {}`}})
	breaks := func(names ...string) []facts.Contract {
		c := facts.Contract{Name: "base", Version: "1.0.0", Verdict: facts.ContractBreaks, Message: "vpc_id is missing"}
		for _, name := range names {
			c.Breaks = append(c.Breaks, facts.BrokenConsumer{Namespace: "a", Name: name, Path: "vpc_id"})
		}
		return []facts.Contract{c}
	}
	b := bound(yubav1.PolicySpec{OnViolation: yubav1.PolicyRequireApproval, Approvals: &yubav1.PolicyApprovals{Count: 1}}, "contract-safe")
	inputs := func(change func(*facts.Inputs)) facts.Inputs {
		in := facts.Inputs{Stage: facts.StagePlan, Show: made.Show, LockFile: made.LockFile, ModuleList: made.ModuleList, Contracts: breaks("cluster"),
			Digests: facts.Digests{Plan: "sha256:1", StateSerial: 4, StateLineage: "one"}, Run: facts.Run{ID: "run-1", PlannedAt: noon}}
		if change != nil {
			change(&in)
		}
		return in
	}
	seen := b.Plan(subject, "uid", inputs(nil), noon)
	ada := People{Approvals: []decide.Approval{{User: "ada", Bound: seen.Bound, At: noon.Add(-time.Minute)}}}
	for sentence, c := range map[string]struct {
		change func(*facts.Inputs)
		want   decide.Outcome
	}{
		"the very plan":                    {nil, decide.OutcomeApply},
		"the same plan by another run":     {func(in *facts.Inputs) { in.Run.ID, in.Run.PlannedAt = "run-2", noon.Add(time.Hour) }, decide.OutcomeApply},
		"it breaks one more consumer":      {func(in *facts.Inputs) { in.Contracts = breaks("cluster", "payments") }, decide.OutcomeWait},
		"the stack has other labels":       {func(in *facts.Inputs) { in.Stack.Labels = map[string]string{"env": "prod"} }, decide.OutcomeWait},
		"it is planned on another lineage": {func(in *facts.Inputs) { in.Digests.StateLineage = "two" }, decide.OutcomeWait},
	} {
		t.Run(sentence, func(t *testing.T) {
			if d := b.With(ada).Plan(subject, "uid", inputs(c.change), noon); d.Outcome != c.want {
				t.Errorf("%s: %s", d.Outcome, d.Message)
			}
		})
	}
}

func TestPoliciesInAuditModeHoldNothing(t *testing.T) {
	files := plantest.Files{"main.tf": "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n"}
	made := plantest.Make(t, plantest.Case{Files: files, Args: []string{"-target=terraform_data.a"}})
	spec := func(e yubav1.PolicyEnforcement, stages ...yubav1.PolicyStage) yubav1.PolicySpec {
		return yubav1.PolicySpec{Enforcement: e, OnViolation: yubav1.PolicyDeny, Stages: stages}
	}
	both := func(a, b *Binding) *Binding {
		b.policies[0].name = "Policy/n/other"
		return &Binding{policies: append(a.policies, b.policies...)}
	}
	audit, enforce := yubav1.PolicyAudit, yubav1.PolicyEnforce
	inputs := facts.Inputs{Stage: facts.StagePlan, Show: made.Show, Run: facts.Run{Targets: []string{"terraform_data.a"}}}
	breaks, unreadable := inputs, inputs
	breaks.Run, breaks.Contracts = facts.Run{}, []facts.Contract{{Name: "base", Verdict: facts.ContractBreaks, Message: "vpc_id is missing"}}
	unreadable.Show = []byte(`{"format_version":"9.0"}`)
	for sentence, c := range map[string]struct {
		policies *Binding
		in       facts.Inputs
		unread   bool
		want     string
		audited  string
	}{
		"a targeted plan":                         {bound(spec(audit), "no-destroy"), inputs, false, Passed, "targets limit the plan"},
		"a broken contract":                       {bound(spec(audit), "no-destroy"), breaks, false, Passed, "vpc_id is missing"},
		"a plan of another format":                {bound(spec(audit), "no-destroy"), unreadable, false, Passed, "9.0"},
		"a plan that is too large":                {bound(spec(audit), "no-destroy"), inputs, true, Passed, "too large"},
		"enforced: a targeted plan":               {bound(spec(enforce), "no-destroy"), inputs, false, Held, ""},
		"enforced: a broken contract":             {bound(spec(enforce), "no-destroy"), breaks, false, Held, ""},
		"enforced: a plan of another format":      {bound(spec(enforce), "no-destroy"), unreadable, false, Refused, ""},
		"enforced: a plan that is too large":      {bound(spec(enforce), "no-destroy"), inputs, true, Refused, ""},
		"both, and one is enforced":               {both(bound(spec(audit), "no-destroy"), bound(spec(enforce), "no-destroy")), inputs, false, Held, ""},
		"both, and the enforced one judges drift": {both(bound(spec(audit), "no-destroy"), bound(spec(enforce, yubav1.PolicyDrift), "no-destroy")), inputs, false, Passed, "targets limit the plan"},
		"none": {&Binding{}, inputs, false, Passed, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var d decide.Decision
			if c.unread {
				d = c.policies.Unread(subject, "uid", c.in, "the plan is too large", noon)
			} else {
				d = c.policies.Plan(subject, "uid", c.in, noon)
			}
			if got := Opinion(d); got != c.want {
				t.Errorf("%s: %s", got, d.Message)
			}
			says := false
			for _, v := range d.Audited {
				says = says || strings.Contains(v.Message, c.audited)
			}
			if !says && c.audited != "" {
				t.Errorf("recorded: %+v", d.Audited)
			}
		})
	}
}
