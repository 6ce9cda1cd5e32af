// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// Plan judges a plan of the subject. What cannot be found out objects to the plan, so there is no
// error.
func (b *Binding) Plan(s Subject, uid string, in facts.Inputs, now time.Time) decide.Decision {
	about := decide.Bound{Stack: s.String(), UID: uid, Stage: string(in.Stage), Plan: in.Digests.Plan, LockFile: in.Digests.LockFile,
		Source: in.Digests.Source, StateSerial: in.Digests.StateSerial, StateLineage: in.Digests.StateLineage, Policies: map[string]string{}}
	for _, p := range b.policies {
		about.Policies[p.name] = p.digest
	}
	f := decide.Facts{Now: now, Bound: about, Approvals: b.people.Approvals, Authors: b.people.Authors}
	document, err := facts.Build(in)
	if err != nil {
		f.Problems = []string{err.Error()}
		return b.decided(f)
	}
	f.Bound.LockFile = document.Digests.LockFile
	f.Never = never(document)
	for _, p := range b.policies {
		f.Policies = append(f.Policies, p.judge(document, s, now))
	}
	return b.decided(f)
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
