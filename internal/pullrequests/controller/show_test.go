// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// telling is a forge that counts the comments that are written.
type telling struct {
	noting
	comments int
}

func (f *telling) Limits() forge.Limits { return forge.Limits{Comment: 60000} }

func (f *telling) SetComment(context.Context, int, string, string) (forge.Comment, error) {
	f.comments++
	return forge.Comment{}, nil
}

// TestQuickPlansHaveOneComment: plans that end soon have one comment, slow ones a first one soon, and not one for each plan.
func TestQuickPlansHaveOneComment(t *testing.T) {
	now := time.Now()
	f := &telling{noting: noting{set: map[string]forge.Status{}}}
	r, m, l := &Reconciler{now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}, &memory{uid: "uid"}, &link{forge: f}
	p := &pull{Head: "head", Found: true, found: now, Now: forge.PullRequest{State: forge.Open, Head: forge.End{Commit: "head"}},
		Stacks: []*stack{{Name: "prod/a", State: comment.Running}, {Name: "prod/b", State: comment.Waiting}}}
	show := func(after time.Duration, want int, when time.Duration) {
		t.Helper()
		now, m.wants = now.Add(after), time.Time{}
		if err := r.show(t.Context(), &yubav1.PullRequestPlanner{}, m, l, p); err != nil {
			t.Fatal(err)
		}
		if f.comments != want || when > 0 != !m.wants.IsZero() || when > 0 && !m.wants.Equal(now.Add(when)) {
			t.Errorf("after %s there are %d comments, want %d; the next pass is in %s", after, f.comments, want, m.wants.Sub(now))
		}
	}
	show(0, 0, atFirst)
	show(atFirst/2, 0, atFirst/2)
	show(atFirst/2, 1, 0) // slow
	p.Stacks[0].State = comment.Planned
	show(time.Second, 1, often-time.Second)
	p.Stacks[1].State = comment.Planned
	show(time.Second, 2, 0) // all have ended
	// The same commit is planned again: what is shown is not true any more.
	p.Stacks[0].State = comment.Waiting
	show(often, 3, 0)
	// Another commit, whose plans end soon.
	p.Now.Head.Commit, p.Head, p.found = "next", "next", now
	show(time.Second, 3, atFirst-time.Second)
	p.Stacks[0].State = comment.Planned
	show(100*time.Millisecond, 4, 0)
}
