// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	about := decide.Bound{Stack: s.String(), UID: uid, Stage: string(in.Stage), Plan: in.Digests.Plan, LockFile: in.Digests.LockFile,
		Source: in.Digests.Source, StateSerial: in.Digests.StateSerial, StateLineage: in.Digests.StateLineage, Policies: map[string]string{}, Bundles: map[string]string{}}
	about.Revisions = in.Revisions
	for _, p := range b.policies {
		about.Policies[p.name] = p.digest
		for _, b := range p.attached.bundles {
			about.Bundles[b.Source+"/"+b.Path] = b.Digest
		}
	}
	f := decide.Facts{Now: now, Bound: about, Approvals: b.people.Approvals, Authors: b.people.Authors}
	if err != nil {
		f.Problems = []string{err.Error()}
		return b.decided(f)
	}
	f.Bound.LockFile = document.Digests.LockFile
	f.Never = never(document)
	for _, p := range b.policies {
		if p.judges(in.Stage) {
			f.Policies = append(f.Policies, p.judge(document, s, b.people.Owners, now))
		}
	}
	return b.decided(f)
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
	// Approvals were recorded by the API. Authors made the change, as far as is known.
	Approvals []decide.Approval
	Authors   []string
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
