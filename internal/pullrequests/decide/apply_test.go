// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func TestRefusal(t *testing.T) {
	const head = "aaaaaaaaaaaaaaaa"
	request := func(change func(*Request)) Request {
		r := Request{Enabled: true, Approved: true, Owners: true, Head: head, Found: true, Commit: head, Review: Review{Approvers: []forge.User{{ID: "1", Name: "alice"}}},
			Now: forge.PullRequest{State: forge.Open, Head: forge.End{Commit: head}}, Stacks: []Candidate{{Name: "prod/a", Planned: true, Shown: true, Changes: true}}}
		change(&r)
		return r
	}
	for sentence, c := range map[string]struct {
		facts Request
		want  string
	}{
		"all is reviewed":                      {request(func(*Request) {}), ""},
		"the planner does not allow it":        {request(func(r *Request) { r.Enabled = false }), "after the merge here"},
		"it was merged meanwhile":              {request(func(r *Request) { r.Now.State = forge.Merged }), "not open"},
		"it is a fork":                         {request(func(r *Request) { r.Now.Fork = true }), "forks"},
		"it conflicts":                         {request(func(r *Request) { r.Now.Conflict = true }), "conflicts"},
		"plans are at work":                    {request(func(r *Request) { r.Busy = 1 }), "have not ended"},
		"there was a push":                     {request(func(r *Request) { r.Now.Head.Commit = "bbbbbbbbbbbbbbbb" }), "have not ended"},
		"no commit":                            {request(func(r *Request) { r.Commit = "" }), "Name the commit"},
		"half a commit":                        {request(func(r *Request) { r.Commit = head[:9] }), "all its digits"},
		"nothing changes":                      {request(func(r *Request) { r.Stacks[0].Changes = false }), "nothing to apply"},
		"only a manifest":                      {request(func(r *Request) { r.Stacks[0].Manifest = true }), "nothing to apply"},
		"a plan failed":                        {request(func(r *Request) { r.Stacks[0].Planned = false }), "no plan of `prod/a`"},
		"policies refuse":                      {request(func(r *Request) { r.Stacks[0].Refused = true }), "Policies refuse"},
		"the comment is too small":             {request(func(r *Request) { r.Stacks[0].Shown = false }), "whole plan"},
		"nobody approved":                      {request(func(r *Request) { r.Review = Review{} }), "No member"},
		"nobody approved, and nobody must":     {request(func(r *Request) { r.Review, r.Approved = Review{}, false }), ""},
		"somebody objects":                     {request(func(r *Request) { r.Review.Objections = []string{"b`ob"} }), "`b?ob` asked"},
		"somebody objects, and nobody must":    {request(func(r *Request) { r.Approved, r.Review.Objections = false, []string{"bob"} }), "`bob` asked"},
		"an owner is missing":                  {request(func(r *Request) { r.OwnersMissing = []string{"@carol"} }), "`@carol`"},
		"an owner is missing, and nobody asks": {request(func(r *Request) { r.OwnersMissing, r.Owners = []string{"@carol"}, false }), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := Refusal(c.facts)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestBeforeMerge(t *testing.T) {
	const commit = "cccccccc"
	held := func(change func(*Merged)) Merged {
		m := Merged{Allowed: true, Review: Review{Approvers: []forge.User{{ID: "1", Name: "alice"}}}, Shown: "d1", Commit: commit, Planned: "sha1:" + commit,
			Applied: "main@sha1:before", Pending: "plan-1", Changes: "d1", Same: true}
		change(&m)
		return m
	}
	for sentence, c := range map[string]struct {
		facts Merged
		want  Fate
	}{
		"the same changes":                    {held(func(*Merged) {}), Approve},
		"it is not planned yet":               {held(func(m *Merged) { m.Planned = "main@sha1:before" }), Awaited},
		"an older plan of the base waits":     {held(func(m *Merged) { m.Planned, m.Pending = "main@sha1:before", "plan-main-before" }), Awaited},
		"other changes":                       {held(func(m *Merged) { m.Changes = "d2" }), Differs},
		"nothing was shown":                   {held(func(m *Merged) { m.Shown, m.Changes = "", "" }), Differs},
		"other files":                         {held(func(m *Merged) { m.Same = false }), Differs},
		"another value of an input":           {held(func(m *Merged) { m.OtherInputs = true }), Differs},
		"nobody asked to apply it":            {held(func(m *Merged) { m.Review = Review{} }), Unreviewed},
		"it would be refused now":             {held(func(m *Merged) { m.Refusal = "`bob` asked for changes." }), Unreviewed},
		"it is approved":                      {held(func(m *Merged) { m.Approved = true }), Applying},
		"it is applied":                       {held(func(m *Merged) { m.Pending, m.Applied = "", m.Planned }), Done},
		"there is nothing to apply":           {held(func(m *Merged) { m.Pending = "" }), Done},
		"the apply failed":                    {held(func(m *Merged) { m.Pending, m.Failed = "", "it failed" }), Awaited},
		"the apply failed after another one":  {held(func(m *Merged) { m.Pending, m.Applied, m.Failed = "", m.Planned, "it failed" }), Awaited},
		"a drift check found something later": {held(func(m *Merged) { m.Applied, m.Changes = m.Planned, "drift" }), Differs},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, why := BeforeMerge(c.facts); got != c.want || why == "" {
				t.Errorf("got %s (%s), want %s", got, why, c.want)
			}
		})
	}
}

func TestMissingOwners(t *testing.T) {
	approvers := []forge.User{{ID: "1", Name: "Alice"}, {ID: "2", Name: "team"}}
	groups := [][]string{{"@alice", "@bob"}, {"@carol"}, {"@acme/team"}, {"team@example.com"}, {"@carol"}}
	want := []string{"@carol", "@acme/team", "team@example.com"}
	if diff := cmp.Diff(want, MissingOwners(groups, approvers)); diff != "" {
		t.Error(diff)
	}
}

func TestCheck(t *testing.T) {
	for sentence, c := range map[string]struct {
		facts Tally
		want  forge.Result
		says  string
	}{
		"plans are at work":              {Tally{}, forge.Pending, "Waits"},
		"it conflicts":                   {Tally{Found: true, Problem: "conflict"}, forge.Pending, "conflict"},
		"nothing is applied":             {Tally{Found: true, Open: 2}, forge.Pending, "0 of 2"},
		"one of two is applied":          {Tally{Found: true, Open: 1, Applied: 1}, forge.Pending, "1 of 2"},
		"all is applied":                 {Tally{Found: true, Applied: 2}, forge.Success, "2 stacks applied"},
		"a stack is left behind":         {Tally{Found: true, Applied: 2, Left: 1}, forge.Pending, "unlock"},
		"manifests come with the merge":  {Tally{Found: true, Later: 1}, forge.Success, "with the merge"},
		"its code is not planned":        {Tally{Found: true, Barred: 1}, forge.Failure, "spec.programs"},
		"some code is not planned":       {Tally{Found: true, Barred: 1, Applied: 1, Open: 1}, forge.Failure, "spec.programs"},
		"it changes nothing that exists": {Tally{Found: true}, forge.Success, "Nothing"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, says := Check(c.facts); got != c.want || !strings.Contains(says, c.says) {
				t.Errorf("got %s (%s), want %s", got, says, c.want)
			}
		})
	}
}
