// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// reportOf is a survey as a comment shows it.
func reportOf(v *surveyView, marker, environment, commit, link string) comment.Report {
	r := comment.Report{Marker: marker, Environment: environment, Commit: commit, Link: link, Deaf: true}
	for i := range v.Stacks {
		r.Stacks = append(r.Stacks, stackReport(&v.Stacks[i]))
	}
	for _, k := range v.Skipped {
		if k.Elsewhere {
			continue
		}
		for _, name := range k.Stacks {
			r.Stacks = append(r.Stacks, comment.Stack{Name: name, State: comment.Held, Reason: "not planned: the GitRepository " + k.Name + ": " + k.Why})
		}
	}
	for i := range v.Reached {
		r.Consequences = append(r.Consequences, v.Reached[i].consequence())
	}
	return r
}

// ruleText is a finding without its policy.
func ruleText(f speculative.Finding) string {
	if f.Address != "" {
		return f.Rule + ": " + f.Address + ": " + f.Message
	}
	return f.Rule + ": " + f.Message
}

func stackReport(t *surveyed) comment.Stack {
	s := comment.Stack{Name: t.Stack(), State: comment.Planned, Outputs: len(t.Outputs), Changes: t.Text,
		Counts: comment.Counts{Add: t.Counts.Add, Change: t.Counts.Change, Destroy: t.Counts.Destroy, Import: t.Counts.Import, Forget: t.Counts.Forget}}
	switch t.Result() {
	case speculative.ResultFailed:
		s.State = comment.Failed
		for _, d := range t.Problems.Errors() {
			s.Problems = append(s.Problems, comment.Problem{Summary: d.Summary, Detail: d.Detail, Path: t.inRepository(d.File), Line: d.Line})
		}
		if t.Policy.Refused() {
			s.State = comment.Held
		} else if len(s.Problems) == 0 {
			s.Problems = append(s.Problems, comment.Problem{Summary: strings.TrimSpace(t.Error)})
		}
	case speculative.ResultUnknown:
		s.State, s.Reason = comment.Held, (&speculative.UnknownError{Needs: t.Needs}).Error()
	case speculative.ResultCanceled:
		s.State, s.Reason = comment.Held, "the plan was canceled"
	}
	if t.Policy == nil {
		return s
	}
	for _, f := range t.Policy.Findings {
		s.Verdicts = append(s.Verdicts, comment.Verdict{Policy: f.Policy, Message: ruleText(f), Refuses: f.Effect == effectDeny})
	}
	if t.Policy.Refused() && len(t.Policy.Findings) == 0 {
		s.Verdicts = append(s.Verdicts, comment.Verdict{Policy: "policies", Message: t.Policy.Message, Refuses: true})
	}
	if s.State == comment.Held && s.Reason == "" {
		s.Reason = "policies refuse it"
	}
	return s
}
