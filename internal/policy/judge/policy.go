// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/rules"
)

// policy is a policy with its rules prepared.
type policy struct {
	name, digest string
	spec         *yubav1.PolicySpec
	// stacks and namespaces select; namespaces is nil for all.
	stacks, namespaces labels.Selector
	rules              []rule
	// problem says why the policy cannot be used; empty if it can.
	problem string

	// sources are those of rules in Rego.
	sources []*source
	// ctx limits one judgement; nil for no limit.
	ctx context.Context //nolint:containedctx // a policy with one is for that judgement only

	// attached is shared by the copies of a policy.
	attached *attachment
}

// attachment connects a policy with the world: the rules from sources that are in force, and what
// evaluates rules in Rego; nil without a server.
type attachment struct {
	bundles   []yubav1.PolicyBundle
	evaluator *Evaluator
}

// rule is a prepared rule, a built-in one or a custom one; problem says why it cannot be used.
type rule struct {
	name    string
	effect  decide.Effect
	check   *rules.Check
	custom  custom
	problem string
}

// prepare prepares a policy. A selector that cannot be read selects everything: the policy must not
// lose its hold by a mistake.
func prepare(name string, whole any, spec *yubav1.PolicySpec, namespaces *metav1.LabelSelector) *policy {
	p := &policy{name: name, digest: digestOf(whole), spec: spec.DeepCopy(), stacks: labels.Everything(), attached: &attachment{}}
	if s, err := metav1.LabelSelectorAsSelector(&spec.Selector); err != nil {
		p.problem = fmt.Sprintf("spec.selector: %s", err)
	} else {
		p.stacks = s
	}
	if namespaces != nil {
		if s, err := metav1.LabelSelectorAsSelector(namespaces); err != nil {
			p.problem = fmt.Sprintf("spec.namespaceSelector: %s", err)
		} else {
			p.namespaces = s
		}
	}
	for i, r := range p.spec.Rules {
		if p.prepareCustom(i, &r) {
			continue
		}
		prepared := rule{name: r.Builtin, effect: decide.Effect(r.OnViolation)}
		var parameters json.RawMessage
		if r.With != nil {
			parameters = r.With.Raw
		}
		check, err := rules.Prepare(r.Builtin, parameters)
		if err != nil {
			prepared.problem = fmt.Sprintf("spec.rules[%d]: %s", i, err)
		}
		prepared.check = check
		p.rules = append(p.rules, prepared)
	}
	return p
}

// problems says what of the policy cannot be used.
func (p *policy) problems() []string {
	var all []string
	if p.problem != "" {
		all = append(all, p.problem)
	}
	for _, r := range p.rules {
		if r.problem != "" {
			all = append(all, r.problem)
		}
	}
	return all
}

// judge evaluates the rules.
func (p *policy) judge(f *facts.Document, s Subject, o Owners, now time.Time) decide.Policy {
	judged := decide.Policy{Name: p.name, Audit: p.spec.Enforcement == yubav1.PolicyAudit, AutoApprove: p.spec.AutoApprove,
		OnViolation: decide.Effect(p.spec.OnViolation), Problem: p.problem, Exemptions: p.exemptions(s)}
	if a := p.spec.Approvals; a != nil {
		judged.Approvals = decide.Requirement{Count: int(a.Count), Groups: a.Groups, NotAuthor: a.NotAuthor, Recorded: true}
		if a.Codeowners {
			judged.Approvals.Owners, judged.Approvals.OwnersOf, judged.Approvals.OwnersUnknown = true, p.owners(o), o.Unknown
		}
	}
	for _, r := range p.rules {
		// Before the plan, some rules have nothing to judge. A rule that cannot be used is still one.
		if f.Stage != facts.StagePrePlan || r.check == nil || slices.Contains(r.check.Rule().Stages, f.Stage) {
			judged.Rules = append(judged.Rules, r.judge(p.ctx, f, now))
		}
	}
	return judged
}

// failing is the policy if none of its rules can be evaluated.
func (p *policy) failing(why string) *policy {
	f := *p
	f.rules = nil
	for _, r := range p.rules {
		effect := cmp.Or(r.effect, decide.Effect(p.spec.OnViolation))
		if !slices.ContainsFunc(f.rules, func(r rule) bool { return r.effect == effect }) {
			f.rules = append(f.rules, rule{effect: effect, problem: why})
		}
	}
	if len(f.rules) == 0 {
		f.problem = cmp.Or(p.problem, why)
	}
	return &f
}

// judges reports whether the policy judges in a stage. What it finds before the plan, it finds in the
// plan, too, so that approvals can settle it.
func (p *policy) judges(stage facts.Stage) bool {
	has := func(s yubav1.PolicyStage) bool { return slices.Contains(p.spec.Stages, s) }
	switch stage {
	case facts.StagePrePlan:
		// Nothing waits for what is only recorded: the plan's record has it, too.
		return has(yubav1.PolicyPrePlan) && p.spec.Enforcement != yubav1.PolicyAudit
	case facts.StageDrift:
		return len(p.spec.Stages) == 0 || has(yubav1.PolicyDrift)
	}
	return len(p.spec.Stages) == 0 || has(yubav1.PolicyPlan) || has(yubav1.PolicyPrePlan)
}

func (r rule) judge(ctx context.Context, f *facts.Document, now time.Time) decide.Rule {
	judged := decide.Rule{Name: r.name, Effect: r.effect, Problem: r.problem}
	var result rules.Result
	switch {
	case r.custom != nil:
		if ctx == nil {
			ctx = context.Background()
		}
		result, judged.Problem = r.custom(ctx, f, now)
	case r.check != nil:
		result = r.check.Judge(f, now)
	}
	judged.Omitted, judged.ValidUntil, judged.RetryAt = result.Omitted, result.ValidUntil, result.RetryAt
	for _, found := range result.Findings {
		judged.Findings = append(judged.Findings, decide.Finding(found))
	}
	return judged
}

// exemptions are those that concern the subject.
func (p *policy) exemptions(s Subject) []decide.Exemption {
	var all []decide.Exemption
	for _, e := range p.spec.Exemptions {
		if len(e.Stacks) > 0 && !slices.ContainsFunc(e.Stacks, func(pattern string) bool { return decide.Matches(pattern, s.String()) }) {
			continue
		}
		all = append(all, decide.Exemption{Rules: e.Rules, Addresses: e.Addresses, Reason: e.Reason, Expires: e.Expires.Time})
	}
	return all
}
