// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/command"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// TestApprovalsAreOfPlansNotOfTimes: equal plans that are made again stay approved, others do not.
func TestApprovalsAreOfPlansNotOfTimes(t *testing.T) {
	const head = "aaaaaaaaaaaa"
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
	alice := forge.User{ID: "2", Name: "alice"}
	review := func(p *pull, minute int) bool {
		return p.judge([]decide.Opinion{{Review: forge.Review{Who: forge.User{ID: "3", Name: "bob"}, Verdict: forge.Approved, Commit: head}, Right: forge.Write, Saw: p.saw(at(minute))}}).Counts()
	}
	for sentence, c := range map[string]struct {
		again         Plan
		command, said bool
	}{
		"the same plan":    {Plan{Digest: "a1", Text: "+ a"}, true, true},
		"another plan":     {Plan{Digest: "a2", Text: "- a"}, false, false},
		"a plan in pieces": {Plan{Digest: "a1", Text: "+ a", Partial: true}, false, false},
	} {
		check := func(t *testing.T, again func(p *pull)) {
			a := &stack{Name: "p/a", Files: "f"}
			p := &pull{Now: forge.PullRequest{Author: forge.User{ID: "1", Name: "author"}, Head: forge.End{Commit: head}}, Head: head, Found: true, Stacks: []*stack{a}}
			a.finish(Plan{Digest: "a1", Text: "+ a"}, nil)
			p.seen(true, at(10))
			if answer, ok := p.command(alice, at(11), command.Command{Verb: command.Approve, Commit: head}); !ok {
				t.Fatal(answer)
			}
			if !p.judge(nil).Counts() || !review(p, 12) {
				t.Fatal("approvals do not count")
			}
			again(p)
			a = p.find("a")
			if p.judge(nil).Counts() || review(p, 12) {
				t.Error("approvals count without a plan")
			}
			a.finish(c.again, nil)
			p.seen(true, at(20))
			if got := p.judge(nil).Counts(); got != c.command {
				t.Errorf("the approval by a command counts: %v", got)
			}
			if got := review(p, 12); got != c.said {
				t.Errorf("the review counts: %v", got)
			}
		}
		t.Run(sentence, func(t *testing.T) { check(t, func(p *pull) { p.replan([]string{"a"}) }) })
		t.Run(sentence+", of all", func(t *testing.T) { check(t, func(p *pull) { p.replan(nil); p.replan(nil); refind(p, head, "f") }) })
	}
}

// refind finds the stack of a head anew.
func refind(p *pull, head, files string) {
	p.begin(head)
	p.Stacks, p.Found = []*stack{{Name: "p/a", Files: files, State: comment.Waiting}}, true
	p.recall()
}

func TestApprovalsEndWithWhatTheyAreOf(t *testing.T) {
	const head = "aaaaaaaaaaaa"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for sentence, c := range map[string]struct {
		head, files string
		counts      bool
	}{
		"the same files":     {head, "f", true},
		"other files":        {head, "g", false},
		"another commit":     {"bbbbbbbbbbbb", "f", false},
		"back at the commit": {"bbbbbbbbbbbb then back", "f", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := &stack{Name: "p/a", Files: "f", State: comment.Planned, Digest: "a1", Shown: at}
			p := &pull{Now: forge.PullRequest{Head: forge.End{Commit: head}}, Head: head, Found: true, Stacks: []*stack{a}}
			p.Approvals = []approval{{forge.User{ID: "2", Name: "alice"}, at, p.digest()}}
			p.replan(nil)
			if c.head != head {
				refind(p, c.head, c.files)
			}
			refind(p, head, c.files)
			p.Stacks[0].finish(Plan{Digest: "a1"}, nil)
			p.seen(true, at.Add(time.Minute))
			if got := p.judge(nil).Counts(); got != c.counts {
				t.Errorf("the approval counts: %v", got)
			}
		})
	}
}

// TestTheFirstCommentOffersADigest: who copies its command at once has seen exactly these plans.
func TestTheFirstCommentOffersADigest(t *testing.T) {
	o := &yubav1.PullRequestPlanner{}
	o.Spec.Merge.ApproveReviewed = true
	p := &pull{Now: forge.PullRequest{State: forge.Open, Head: forge.End{Commit: "h"}}, Head: "h", Found: true, Stacks: []*stack{
		{Name: "p/a", State: comment.Planned, Digest: "a1"}, {Name: "p/b", State: comment.Planned, Digest: "b1", Partial: true}, {Name: "p/c", State: comment.Failed}}}
	first := report(o, &memory{}, p)
	if p.digest() != "" || first.Plans == "" {
		t.Fatalf("before it is shown, %q can be approved, and the comment offers %q", p.digest(), first.Plans)
	}
	p.seen(true, time.Now())
	if again := report(o, &memory{}, p); p.digest() != first.Plans || again.Plans != first.Plans {
		t.Errorf("then %q can be approved, and the comment offers %q", p.digest(), again.Plans)
	}
	p.seen(false, time.Now())
	if p.digest() != "" {
		t.Error("what a comment leaves out can be approved")
	}
}

func TestAnApprovalThatNamesPlansNeedsNoTime(t *testing.T) {
	const head = "aaaaaaaaaaaa"
	shown := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &pull{Now: forge.PullRequest{Author: forge.User{ID: "1", Name: "author"}, Head: forge.End{Commit: head}}, Head: head, Found: true,
		Stacks: []*stack{{Name: "p/a", State: comment.Planned, Digest: "a1", Shown: shown}}}
	alice := forge.User{ID: "2", Name: "alice"}
	if _, ok := p.command(alice, shown, command.Command{Verb: command.Approve, Commit: head}); ok {
		t.Error("an approval of the second in which plans were shown counts")
	}
	if _, ok := p.command(alice, shown, command.Command{Verb: command.Approve, Commit: head, Plans: "0123456789abcdef"}); ok {
		t.Error("an approval of other plans counts")
	}
	if answer, ok := p.command(alice, shown, command.Command{Verb: command.Approve, Commit: head, Plans: p.digest()}); !ok || !p.judge(nil).Counts() {
		t.Errorf("an approval that names the plans does not count: %s", answer)
	}
	former := p.digest()
	p.Stacks[0].Files = "other files"
	if p.digest() == former || p.judge(nil).Counts() {
		t.Error("an approval of other files counts")
	}
}

func TestTally(t *testing.T) {
	const head = "aaaaaaaaaaaa"
	applied := func(commit string, state comment.State) *progress { return &progress{commit: commit, state: state} }
	p := &pull{Now: forge.PullRequest{Head: forge.End{Commit: head}}, Head: head, Found: true, Stacks: []*stack{
		{Name: "p/applied", State: comment.Planned, Text: "+ a", progress: applied(head, comment.Applied)},
		{Name: "p/at-work", State: comment.Planned, Text: "+ a", progress: applied(head, comment.Applying)},
		{Name: "p/former", State: comment.Planned, Text: "+ a", progress: applied("bbbb", comment.Applied)},
		{Name: "p/locked-by-another", State: comment.Planned, Text: "+ a", progress: &progress{state: comment.Held}},
		{Name: "p/unchanged", State: comment.Planned},
		{Name: "p/failed", State: comment.Failed},
		{Name: "p/manifest", State: comment.Planned, Fields: []comment.Field{{Path: "spec.path"}}},
	}}
	if got, want := p.tally(&memory{}, nil), (decide.Tally{Found: true, Applied: 1, Open: 4, Later: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
