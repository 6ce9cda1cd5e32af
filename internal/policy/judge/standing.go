// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"time"

	"github.com/yuba-dev/yuba/internal/policy/decide"
)

// What policies make of a plan, in one word. These are the values of a stack's status.
const (
	// Freed: a policy frees the plan from review, and none objects.
	Freed = "Freed"
	// Passed: no policy objects, but none frees the plan either.
	Passed = "Passed"
	// Held: the plan waits for a person.
	Held = "Held"
	// Refused: nobody may apply the plan.
	Refused = "Refused"
)

// Opinion is a decision in one word.
func Opinion(d decide.Decision) string {
	switch {
	case d.Outcome == decide.OutcomeApply:
		return Freed
	case d.Outcome == decide.OutcomeWait && d.Reason == decide.ReasonNotFreed:
		return Passed
	case d.Outcome == decide.OutcomeWait:
		return Held
	}
	return Refused
}

// Standing is what the policies that bind a stack make of one plan.
type Standing struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Run made the plan; empty without one. Pending is true if the plan waits for its apply.
	Run     string `json:"run,omitempty"`
	Pending bool   `json:"pending,omitempty"`
	// JudgedAt is the time of this judgement. It is made on request, and nobody keeps it.
	JudgedAt time.Time `json:"judgedAt"`
	// ApprovePlan is that of the stack.
	ApprovePlan string `json:"approvePlan,omitempty"`
	// Policies are those that select the stack.
	Policies []Bound `json:"policies"`
	// Outcome is what happens to the plan, before people approve; empty without a plan. Decision has the
	// reasons.
	Outcome  string           `json:"outcome,omitempty"`
	Decision *decide.Decision `json:"decision,omitempty"`
	// NoPlan says why there is no plan to judge.
	NoPlan string `json:"noPlan,omitempty"`
}

// Bound is a policy that selects a stack.
type Bound struct {
	Name        string   `json:"name"`
	Enforcement string   `json:"enforcement"`
	OnViolation string   `json:"onViolation"`
	AutoApprove bool     `json:"autoApprove,omitempty"`
	Rules       []string `json:"rules"`
	Problems    []string `json:"problems,omitempty"`
}

// Bounds describes the policies of the binding.
func (b *Binding) Bounds() []Bound {
	all := make([]Bound, 0, len(b.policies))
	for _, p := range b.policies {
		bound := Bound{Name: p.name, Enforcement: string(p.spec.Enforcement), OnViolation: string(p.spec.OnViolation), AutoApprove: p.spec.AutoApprove, Problems: p.problems()}
		for _, r := range p.rules {
			bound.Rules = append(bound.Rules, r.name)
		}
		all = append(all, bound)
	}
	return all
}
