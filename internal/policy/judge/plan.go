// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// Plan judges a plan of the subject. What cannot be found out objects to the plan, so there is no
// error.
func (b *Binding) Plan(s Subject, uid string, in facts.Inputs, now time.Time) decide.Decision {
	document, err := facts.Build(in)
	return b.judge(s, uid, in, document, err, now)
}

// judge judges the facts of the inputs, or their error.
func (b *Binding) judge(s Subject, uid string, in facts.Inputs, document *facts.Document, err error, now time.Time) decide.Decision {
	f := decide.Facts{Now: now, Bound: b.about(s, uid, in), Approvals: b.people.Approvals, Authors: b.people.Authors, AuthorsUnknown: b.people.AuthorsUnknown}
	if err == nil {
		f.Bound.LockFile = document.Digests.LockFile
		// Verdicts about contracts, labels and modules change without the plan: an approval is of what a
		// person saw.
		f.Bound.Facts, err = document.Digest()
	}
	enforced := b.enforced(in.Stage)
	if err != nil {
		if enforced {
			f.Problems = []string{err.Error()}
		} else {
			f.Policies = b.unjudged(s, in.Stage, err.Error(), now)
		}
		return b.decided(f)
	}
	for _, p := range b.policies {
		if p.judges(in.Stage) {
			f.Policies = append(f.Policies, p.judge(document, s, b.people.Owners, now))
		}
	}
	if f.Never = never(document); !enforced {
		f.Never = nil
		for i := range f.Policies {
			f.Policies[i].Rules = append(f.Policies[i].Rules, wouldHold(never(document)))
		}
	}
	return b.decided(f)
}

// Unread judges a plan that policies cannot read: each of their rules fails.
func (b *Binding) Unread(s Subject, uid string, in facts.Inputs, why string, now time.Time) decide.Decision {
	return b.decided(decide.Facts{Now: now, Bound: b.about(s, uid, in), Approvals: b.people.Approvals, Authors: b.people.Authors, AuthorsUnknown: b.people.AuthorsUnknown,
		Policies: b.unjudged(s, in.Stage, why, now)})
}

// enforced reports whether a policy judges in a stage that does more than record.
func (b *Binding) enforced(stage facts.Stage) bool {
	return slices.ContainsFunc(b.policies, func(p *policy) bool { return p.judges(stage) && p.spec.Enforcement != yubav1.PolicyAudit })
}

func (b *Binding) unjudged(s Subject, stage facts.Stage, why string, now time.Time) (all []decide.Policy) {
	for _, p := range b.policies {
		if p.judges(stage) {
			all = append(all, p.failing(why).judge(&facts.Document{Stage: stage}, s, b.people.Owners, now))
		}
	}
	return all
}

// wouldHold records for policies in audit mode why they would hold a plan, whatever their rules find.
func wouldHold(reasons []string) decide.Rule {
	r := decide.Rule{Effect: decide.EffectRequireApproval}
	for _, reason := range reasons {
		r.Findings = append(r.Findings, decide.Finding{Message: reason})
	}
	return r
}

// about identifies what is judged.
func (b *Binding) about(s Subject, uid string, in facts.Inputs) decide.Bound {
	about := decide.Bound{Stack: s.String(), UID: uid, Stage: string(in.Stage), Plan: in.Digests.Plan, LockFile: in.Digests.LockFile,
		Source: in.Digests.Source, StateSerial: in.Digests.StateSerial, StateLineage: in.Digests.StateLineage, Policies: map[string]string{}, Bundles: map[string]string{}}
	about.Revisions = in.Revisions
	for _, p := range b.policies {
		about.Policies[p.name] = p.digest
		for _, b := range p.attached.bundles {
			about.Bundles[b.Source+"/"+b.Path] = b.Digest
		}
	}
	return about
}

// PrePlan reports whether a policy judges the configuration before it is planned.
func (b *Binding) PrePlan() bool {
	return slices.ContainsFunc(b.policies, func(p *policy) bool { return p.judges(facts.StagePrePlan) })
}

// Configuration judges the configuration before it is planned, by its facts. The problem says why
// there are none; then nothing is planned. Only a refusal counts: other violations are found again in
// the plan.
func (b *Binding) Configuration(s Subject, document *facts.Document, problem error, now time.Time) decide.Decision {
	f := decide.Facts{Now: now, FreedByMode: true, Bound: decide.Bound{Stack: s.String(), Stage: string(facts.StagePrePlan), Policies: map[string]string{}}}
	if problem != nil {
		f.Problems = []string{problem.Error()}
	}
	for _, p := range b.policies {
		if !p.judges(facts.StagePrePlan) {
			continue
		}
		f.Bound.Policies[p.name] = p.digest
		if problem == nil {
			f.Policies = append(f.Policies, p.judge(document, s, Owners{}, now))
		}
	}
	return decide.Decide(f)
}

func (b *Binding) decided(f decide.Facts) decide.Decision {
	if b.people.About != nil {
		b.people.About(f.Bound)
	}
	return decide.Decide(f)
}

// People are those who concern a decision.
type People struct {
	// Approvals were recorded by the API. Authors made the change, as far as is known; AuthorsUnknown says
	// why others may have, too.
	Approvals      []decide.Approval
	Authors        []string
	AuthorsUnknown string
	// Owners are those by CODEOWNERS, if a policy asks for them.
	Owners Owners
	// About is told what the decision is about; may be nil.
	About func(decide.Bound)
}

// With returns the binding with people.
func (b *Binding) With(p People) *Binding {
	with := *b
	with.people = p
	return &with
}

// never says why a plan is for a person whatever the rules find.
func never(f *facts.Document) []string {
	var all []string
	if f.Plan == nil {
		return []string{"there is no plan"}
	}
	if f.Plan.Errored {
		all = append(all, "planning ended with an error, so the plan is incomplete")
	}
	if f.Plan.Partial || len(f.Run.Targets) > 0 || len(f.Run.Excludes) > 0 {
		all = append(all, "targets limit the plan, so it is not the whole change")
	}
	for _, c := range f.Contracts {
		if c.Verdict == facts.ContractBreaks {
			all = append(all, fmt.Sprintf("contract %s: %s", c.Name, strings.TrimSuffix(c.Message, ".")))
		}
	}
	return all
}
