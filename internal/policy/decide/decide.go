// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Decide decides about one plan.
func Decide(f Facts) Decision {
	d := Decision{Bound: f.Bound.Hash()}
	policies := slices.SortedFunc(slices.Values(f.Policies), func(a, b Policy) int { return strings.Compare(a.Name, b.Name) })
	// 1. What do the policies find?
	var asks []Requirement
	for i := range policies {
		asks = append(asks, d.judge(&policies[i], f.Now)...)
	}
	sortViolations(d.Violations)
	sortViolations(d.Audited)
	// 2. What may nobody approve? Without the policies, nobody knows what one of them denies.
	if len(f.Problems) > 0 {
		d.Outcome, d.Reason = OutcomeRefuse, ReasonFailed
		d.Message = "The policies could not be evaluated: " + strings.Join(f.Problems, "; ")
		return d
	}
	if len(d.Violations) > 0 && d.Violations[0].Effect == EffectDeny {
		d.Outcome, d.Reason = OutcomeRefuse, ReasonDenied
		d.Message = "Denied by " + d.summary()
		return d
	}
	// 3. What must people approve?
	freed := len(d.FreedBy) > 0 || f.FreedByMode
	if len(f.Never) > 0 || !freed {
		asks = append(asks, Requirement{Count: 1})
	}
	if len(asks) == 0 {
		d.Outcome, d.Reason, d.Message = OutcomeApply, ReasonFreed, "No policy has objections."
		return d
	}
	d.approve(asks, &f)
	if len(d.Missing) == 0 {
		d.Outcome, d.Reason = OutcomeApply, ReasonApproved
		d.Message = "Approved by " + strings.Join(d.Approvers, ", ")
		return d
	}
	d.Outcome = OutcomeWait
	switch {
	case len(d.Violations) > 0 && slices.ContainsFunc(d.Violations, func(v Violation) bool { return v.Problem }):
		d.Reason = ReasonFailed
		d.Message = d.summary()
	case len(d.Violations) > 0:
		d.Reason = ReasonViolated
		d.Message = d.summary()
	case len(f.Never) > 0:
		d.Reason = ReasonPartial
		d.Message = "A person must approve this plan: " + strings.Join(f.Never, "; ")
	default:
		d.Reason, d.Message = ReasonNotFreed, "No policy approves this plan automatically."
	}
	d.Message, d.WaitsFor = strings.TrimSuffix(d.Message, "."), d.wanted()
	return d
}

// judge adds what a policy finds, and returns what it asks for.
func (d *Decision) judge(p *Policy, now time.Time) (asks []Requirement) {
	var found []Violation
	add := func(effect Effect, f Finding, problem bool) {
		found = append(found, Violation{Policy: p.Name, Effect: effect, Finding: f, Problem: problem})
	}
	if p.Problem != "" {
		add(known(p.OnViolation), Finding{Message: p.Problem, Unknown: true}, true)
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		effect := known(cmp.Or(r.Effect, p.OnViolation))
		if r.Problem != "" {
			add(effect, Finding{Rule: r.Name, Message: r.Problem, Unknown: true}, true)
		}
		if !r.ValidUntil.IsZero() && !now.Before(r.ValidUntil) {
			add(effect, Finding{Rule: r.Name, Message: "the rule must be evaluated again: its result ended at " + r.ValidUntil.UTC().Format(time.RFC3339), Unknown: true}, true)
		}
		for _, f := range r.Findings {
			f.Rule = r.Name
			if e := p.exemption(r.Name, &f.Address, now); e != nil {
				d.exempt(p, f, e)
				continue
			}
			add(effect, f, false)
		}
		if r.Omitted > 0 {
			more := Finding{Rule: r.Name, Message: fmt.Sprintf("%d more findings", r.Omitted)}
			if e := p.exemption(r.Name, nil, now); e != nil {
				d.exempt(p, more, e)
			} else {
				add(effect, more, false)
			}
		}
		if !p.Audit {
			d.ValidUntil = earlier(d.ValidUntil, r.ValidUntil, now)
			d.RetryAt = earlier(d.RetryAt, r.RetryAt, now)
		}
	}
	if p.Audit {
		d.Audited = append(d.Audited, found...)
		return nil
	}
	d.Violations = append(d.Violations, found...)
	if len(found) == 0 {
		if p.AutoApprove {
			d.FreedBy = append(d.FreedBy, p.Name)
		}
		return nil
	}
	has := func(e Effect) bool {
		return slices.ContainsFunc(found, func(v Violation) bool { return v.Effect == e })
	}
	if has(EffectRequireApproval) {
		ask := p.Approvals
		ask.Policy, ask.Count = p.Name, max(1, ask.Count)
		asks = append(asks, ask)
	}
	if has(EffectWarn) {
		asks = append(asks, Requirement{Policy: p.Name, Count: 1})
	}
	return asks
}

// exempt records that an exemption takes a finding out. The decision ends with the exemption.
func (d *Decision) exempt(p *Policy, f Finding, e *Exemption) {
	if p.Audit {
		return
	}
	d.Exempted = append(d.Exempted, Exempted{Policy: p.Name, Finding: f, Reason: e.Reason, Expires: e.Expires})
	d.ValidUntil = earlier(d.ValidUntil, e.Expires, time.Time{})
}

// known returns the effect; an unknown one is the strictest.
func known(e Effect) Effect {
	switch e {
	case EffectDeny, EffectRequireApproval, EffectWarn:
		return e
	case "":
		return EffectRequireApproval
	}
	return EffectDeny
}

// earlier returns the earlier of two times, of which zero is never and one that has passed does not
// count.
func earlier(a, b, now time.Time) time.Time {
	if b.IsZero() || !b.After(now) || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

func rank(e Effect) int {
	return slices.Index([]Effect{EffectDeny, EffectRequireApproval, EffectWarn}, e)
}

func sortViolations(list []Violation) {
	slices.SortStableFunc(list, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(rank(a.Effect), rank(b.Effect)), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Rule, b.Rule))
	})
}

// summary describes the first violation, and counts the others.
func (d *Decision) summary() string {
	v := d.Violations[0]
	text := v.Policy
	for _, part := range []string{v.Rule, v.Address} {
		if part != "" {
			text += ": " + part
		}
	}
	text += ": " + strings.TrimSuffix(v.Message, ".")
	if more := len(d.Violations) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// wanted describes who must approve.
func (d *Decision) wanted() string {
	var parts []string
	for _, m := range d.Missing {
		if m.Policy == "" && len(d.Missing) > 1 {
			continue // the approvals that policies ask for include it
		}
		text := fmt.Sprintf("%d of %d approvals", m.Count-m.Have, m.Count)
		if m.Have >= m.Count {
			text = "an approval by owners"
		}
		if m.Count == 1 && m.Have == 0 {
			text = "an approval"
		}
		if len(m.Groups) > 0 {
			text += " by " + strings.Join(m.Groups, " or ")
		}
		for i, owners := range m.OwnersMissing {
			const most = 5
			if i == most {
				text += fmt.Sprintf(" and %d more groups of owners", len(m.OwnersMissing)-most)
				break
			}
			text += ", one of them " + strings.Join(owners[:min(len(owners), most)], " or ")
		}
		if m.NotAuthor {
			text += ", not by the change's author"
			if m.AuthorsUnknown != "" {
				text += " (one more than usual, because " + m.AuthorsUnknown + ")"
			}
		}
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ") + "."
}
