// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func open(change func(*Pull)) Pull {
	p := Pull{Rules: Rules{Default: "main"}, Room: 4,
		Now: forge.PullRequest{Number: 7, State: forge.Open, Base: forge.End{Branch: "main"}, Head: forge.End{Branch: "fix", Commit: "aaaaaaaaaaaaaaaa"}}}
	change(&p)
	return p
}

func TestDecide(t *testing.T) {
	planned := func(p *Pull) { p.Head, p.Found = p.Now.Head.Commit, true }
	fork := func(p *Pull) { p.Now.Fork = true }
	for sentence, c := range map[string]struct {
		facts Pull
		want  Verb
	}{
		"a new pull request":                        {open(func(*Pull) {}), Discover},
		"its stacks are not known yet":              {open(func(p *Pull) { p.Head = p.Now.Head.Commit }), Discover},
		"a push supersedes plans at work":           {open(func(p *Pull) { p.Head, p.Found, p.Running = "bbbb", true, 3 }), Discover},
		"plans wait":                                {open(func(p *Pull) { planned(p); p.Waiting = 9 }), Start},
		"there is no room":                          {open(func(p *Pull) { planned(p); p.Waiting, p.Running, p.Room = 9, 4, 0 }), Wait},
		"plans are at work":                         {open(func(p *Pull) { planned(p); p.Running = 1 }), Wait},
		"all is planned":                            {open(planned), Rest},
		"it was closed":                             {open(func(p *Pull) { planned(p); p.Running = 1; p.Now.State = forge.Closed }), End},
		"it was merged":                             {open(func(p *Pull) { p.Now.State = forge.Merged }), Merge},
		"it was merged elsewhere":                   {open(func(p *Pull) { planned(p); p.Now.State, p.Now.Base.Branch = forge.Merged, "old" }), End},
		"it is for another branch":                  {open(func(p *Pull) { p.Now.Base.Branch = "old" }), Leave},
		"a pattern fits":                            {open(func(p *Pull) { p.Rules.Branches = []string{"release-*"}; p.Now.Base.Branch = "release-1" }), Discover},
		"no pattern fits":                           {open(func(p *Pull) { p.Rules.Branches = []string{"release-*"} }), Leave},
		"a label is missing":                        {open(func(p *Pull) { p.Rules.Labels = []string{"plan", "prod"}; p.Now.Labels = []string{"Plan"} }), Leave},
		"all labels are there":                      {open(func(p *Pull) { p.Rules.Labels = []string{"plan"}; p.Now.Labels = []string{"x", "Plan"} }), Discover},
		"drafts are left out":                       {open(func(p *Pull) { p.Rules.NoDrafts, p.Now.Draft = true, true }), Leave},
		"drafts are planned otherwise":              {open(func(p *Pull) { p.Now.Draft = true }), Discover},
		"a fork waits for a member":                 {open(fork), Hold},
		"a member allowed the head of a fork":       {open(func(p *Pull) { fork(p); p.Allowed = p.Now.Head.Commit }), Discover},
		"a fork was pushed to after it was allowed": {open(func(p *Pull) { fork(p); p.Allowed, p.Head, p.Found = "bbbb", "bbbb", true }), Hold},
		"forks are never planned":                   {open(func(p *Pull) { fork(p); p.Rules.NoForks, p.Allowed = true, p.Now.Head.Commit }), Leave},
		"it conflicts":                              {open(func(p *Pull) { planned(p); p.Now.Conflict = true }), Hold},
		"the branch is gone":                        {open(func(p *Pull) { p.Now.Head.Commit = "" }), Hold},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := Decide(c.facts)
			if got.Verb != c.want || got.Reason == "" {
				t.Errorf("got %+v, want %s", got, c.want)
			}
			if got.Verb == Start && got.Begin != 4 {
				t.Errorf("it begins %d plans", got.Begin)
			}
		})
	}
}

// TestNothingOfAForkIsPlannedUnasked is a law over random facts.
func TestNothingOfAForkIsPlannedUnasked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // of a test
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	for range 20_000 {
		p := Pull{Rules: Rules{Default: pick("", "main"), NoForks: r.IntN(4) == 0}, Head: pick("", "a", "b"), Found: r.IntN(2) == 0, Allowed: pick("", "a", "b"),
			Waiting: r.IntN(3), Running: r.IntN(3), Room: r.IntN(3), Now: forge.PullRequest{State: forge.State(pick("open", "open", "closed", "merged")), Fork: r.IntN(2) == 0,
				Conflict: r.IntN(4) == 0, Base: forge.End{Branch: pick("main", "old")}, Head: forge.End{Commit: pick("", "a", "b")}}}
		d := Decide(p)
		plans := d.Verb == Discover || d.Verb == Start
		if plans && (p.Now.State != forge.Open || p.Now.Conflict || p.Now.Fork && (p.Rules.NoForks || p.Allowed != p.Now.Head.Commit || p.Allowed == "")) {
			t.Fatalf("%+v is planned: %+v", p, d)
		}
		if d.Verb == Start && (d.Begin < 1 || d.Begin > p.Room || p.Head != p.Now.Head.Commit) {
			t.Fatalf("%+v begins plans: %+v", p, d)
		}
	}
}

func TestJudge(t *testing.T) {
	opinion := func(who string, right forge.Right, v forge.Verdict, commit string) Opinion {
		return Opinion{forge.Review{Who: forge.User{ID: who, Name: who}, Verdict: v, Commit: commit}, right, true}
	}
	renamed := opinion("author", forge.Write, forge.Approved, "head")
	renamed.Who.Name = "somebody-else"
	alike := opinion("carol", forge.Write, forge.Rejected, "head")
	alike.Who.Name = "author"
	early, untold := opinion("early", forge.Write, forge.Approved, "head"), opinion("early-and-untold", forge.Write, forge.Approved, "")
	early.Saw, untold.Saw = false, false
	got := Judge(forge.User{ID: "author", Name: "author"}, "head", []Opinion{
		opinion("author", forge.Admin, forge.Approved, "head"), opinion("reader", forge.Read, forge.Approved, "head"), opinion("old", forge.Write, forge.Approved, "before"),
		opinion("alice", forge.Write, forge.Approved, "head"), opinion("untold", forge.Admin, forge.Approved, ""), opinion("bob", forge.Write, forge.Rejected, "before"),
		opinion("guest", forge.Read, forge.Rejected, "head"), renamed, opinion("alice", forge.Write, forge.Approved, "head"),
		early, untold, alike,
	})
	if diff := cmp.Diff(Review{Approvers: []forge.User{{ID: "alice", Name: "alice"}, {ID: "untold", Name: "untold"}}, Objections: []string{"bob", "author"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAfterMerge(t *testing.T) {
	const commit = "cccccccc"
	reviewed := Review{Approvers: []forge.User{{ID: "1", Name: "alice"}}}
	merged := func(change func(*Merged)) Merged {
		m := Merged{Allowed: true, Review: reviewed, Shown: "d1", Commit: commit, Planned: "main@sha1:" + commit, Applied: "main@sha1:before", Pending: "plan-1", Changes: "d1", Same: true}
		change(&m)
		return m
	}
	for sentence, c := range map[string]struct {
		facts Merged
		want  Fate
	}{
		"the same changes, reviewed":               {merged(func(*Merged) {}), Approve},
		"its plan or apply has failed":             {merged(func(m *Merged) { m.Failed, m.Pending = "TFExecApplyFailed: quota", "" }), Failed},
		"it is applied, and its checks fail":       {merged(func(m *Merged) { m.Failed, m.Applied, m.Pending = "HealthChecksFailed", m.Planned, "" }), Failed},
		"other changes":                            {merged(func(m *Merged) { m.Changes = "d2" }), Differs},
		"nothing was shown":                        {merged(func(m *Merged) { m.Shown = "" }), Differs},
		"nothing was shown, and digests are empty": {merged(func(m *Merged) { m.Shown, m.Changes = "", "" }), Differs},
		"nobody approved":                          {merged(func(m *Merged) { m.Review = Review{} }), Unreviewed},
		"somebody objects":                         {merged(func(m *Merged) { m.Review.Objections = []string{"bob"} }), Unreviewed},
		"approvals do not count for this merge":    {merged(func(m *Merged) { m.Void = "it was merged elsewhere" }), Unreviewed},
		"reviews do not approve here":              {merged(func(m *Merged) { m.Allowed = false }), Unreviewed},
		"the merge commit is not planned yet":      {merged(func(m *Merged) { m.Planned = "main@sha1:before" }), Awaited},
		"other files with the same changes":        {merged(func(m *Merged) { m.Same = false }), Differs},
		"a later commit has the same changes":      {merged(func(m *Merged) { m.Planned = "main@sha1:later" }), Awaited},
		"a later commit has other changes":         {merged(func(m *Merged) { m.Planned, m.Changes = "main@sha1:later", "d2" }), Awaited},
		"the merge commit is not known":            {merged(func(m *Merged) { m.Commit = "" }), Awaited},
		"it changes nothing":                       {merged(func(m *Merged) { m.Pending, m.Changes = "", "" }), Done},
		"it is applied":                            {merged(func(m *Merged) { m.Pending, m.Changes, m.Applied = "", "", m.Planned }), Done},
		"it is approved already":                   {merged(func(m *Merged) { m.Approved = true }), Applying},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, why := AfterMerge(c.facts); got != c.want || why == "" {
				t.Errorf("got %s (%s), want %s", got, why, c.want)
			}
		})
	}
}
