// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func statuses(t *testing.T, w World, f forge.Forge, _ Traits) {
	head := ok(f.PullRequest(background(t), w.Create(t, Simple("status"))))(t).Head.Commit
	set := func(s forge.Status) {
		t.Helper()
		if err := f.SetStatus(background(t), head, s); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []forge.Status {
		t.Helper()
		all := ok(f.Statuses(background(t), head))(t)
		slices.SortFunc(all, func(a, b forge.Status) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	first := forge.Status{Name: "yuba/production", Result: forge.Pending, Description: "5 stacks are planned", URL: "https://yuba.example.com/pr/1"}
	set(first)
	set(first)
	other := forge.Status{Name: "yuba/staging", Result: forge.Failure, Description: strings.Repeat("ü", 1000), URL: "https://yuba.example.com/pr/1"}
	set(other)
	last := first
	last.Result, last.Description = forge.Success, "5 stacks: 1 to add"
	set(last)
	got := list()
	if len(got) != 2 {
		t.Fatalf("the statuses are %+v", got)
	}
	if diff := cmp.Diff(last, got[0]); diff != "" {
		t.Error(diff)
	}
	if got[1].Result != forge.Failure || got[1].Name != other.Name || !strings.HasSuffix(got[1].Description, "ü…") {
		t.Errorf("the other status is %+v", got[1])
	}
}

const marker = "yuba:pr:4f1c"

func edits(t *testing.T, w World, f forge.Forge, _ Traits) {
	n := w.Create(t, Simple("comment"))
	write := func(text string) forge.Comment {
		t.Helper()
		return ok(f.SetComment(background(t), n, marker, text))(t)
	}
	first := write("One stack\n\n[//]: # (" + marker + ")")
	w.Say(t, n, Alice, "Nice")
	second := write("Two stacks ✓\n\n[//]: # (" + marker + ")")
	same := write("Two stacks ✓\n\n[//]: # (" + marker + ")")
	if first.ID == "" || first.ID != second.ID || same.ID != first.ID || !first.Mine || !strings.HasPrefix(first.URL, "http") {
		t.Errorf("the comment is %+v, then %+v, then %+v", first, second, same)
	}
	all := ok(f.Comments(background(t), n, time.Time{}))(t)
	if len(all) != 2 || !strings.HasPrefix(all[0].Text, "Two stacks ✓") || !all[0].Mine || all[1].Text != "Nice" || all[1].Mine || all[1].Author.Name != Alice {
		t.Errorf("the comments are %+v", all)
	}
	if _, err := f.SetComment(background(t), n, marker, "without it"); err == nil {
		t.Error("a comment without its marker would never be found again")
	}
}

func planted(t *testing.T, w World, f forge.Forge, _ Traits) {
	n := w.Create(t, Simple("planted"))
	theirs := w.Say(t, n, Bob, "I am Yuba. "+marker)
	ours := ok(f.SetComment(background(t), n, marker, "True "+marker))(t)
	if ours.ID == theirs {
		t.Error("another's comment was edited")
	}
}

func comments(t *testing.T, w World, f forge.Forge, _ Traits) {
	n := w.Create(t, Simple("talk"))
	first := w.Say(t, n, Alice, "/yuba plan")
	second := w.Say(t, n, Bob, "/yuba help")
	third := w.Say(t, n, Alice, "3")
	all := ok(f.Comments(background(t), n, time.Time{}))(t)
	var ids []string
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]string{first, second, third}, ids); diff != "" {
		t.Fatal(diff)
	}
	if all[1].Author.Name != Bob || all[1].Text != "/yuba help" || all[1].Created.IsZero() || all[1].Updated.IsZero() {
		t.Errorf("the comment is %+v", all[1])
	}
	if later := ok(f.Comments(background(t), n, time.Now().Add(24*time.Hour)))(t); len(later) != 0 {
		t.Errorf("after tomorrow: %+v", later)
	}
}

func reacts(t *testing.T, w World, f forge.Forge, _ Traits) {
	n := w.Create(t, Simple("react"))
	id := w.Say(t, n, Alice, "/yuba plan")
	for range 2 {
		err := f.React(background(t), n, id, forge.Seen)
		var unsupported *forge.UnsupportedError
		if errors.As(err, &unsupported) == f.Limits().Reactions || err != nil && f.Limits().Reactions {
			t.Fatal(err)
		}
	}
}

func reviews(t *testing.T, w World, f forge.Forge, traits Traits) {
	n := w.Create(t, Simple("review"))
	if got := ok(f.Reviews(background(t), n))(t); len(got) != 0 {
		t.Errorf("before anyone reviewed: %+v", got)
	}
	head := ok(f.PullRequest(background(t), n))(t).Head.Commit
	if !traits.NoRejections {
		w.Review(t, n, Bob, forge.Rejected)
		if got := ok(f.Reviews(background(t), n))(t); len(got) != 1 || got[0].Verdict != forge.Rejected {
			t.Errorf("the reviews are %+v", got)
		}
	}
	w.Review(t, n, Bob, forge.Approved)
	got := ok(f.Reviews(background(t), n))(t)
	if len(got) != 1 || got[0].Who.Name != Bob || got[0].Verdict != forge.Approved {
		t.Fatalf("the reviews are %+v", got)
	}
	if got[0].Commit != head && !traits.NoReviewCommits {
		t.Errorf("the reviewed commit is %q, want %s", got[0].Commit, head)
	}
	next := w.Push(t, n, map[string]string{"main.tf": "# after the review\n"})
	for _, r := range ok(f.Reviews(background(t), n))(t) {
		if r.Commit == next {
			t.Error("an old approval counts for a new commit")
		}
	}
}

func rights(t *testing.T, w World, f forge.Forge, traits Traits) {
	n := w.Create(t, Simple("rights"))
	author := ok(f.PullRequest(background(t), n))(t).Author
	if traits.NoRights {
		var unsupported *forge.UnsupportedError
		if right, err := f.Right(background(t), author); !errors.As(err, &unsupported) || right != forge.None {
			t.Error(right, err)
		}
		return
	}
	for want, who := range map[forge.Right]forge.User{forge.Write: author, forge.None: {Name: "nobody-of-that-name"}} {
		if got := ok(f.Right(background(t), who))(t); got != want {
			t.Errorf("the right of %q is %v, want %v", who.Name, got, want)
		}
	}
}

func missing(t *testing.T, _ World, f forge.Forge, _ Traits) {
	var gone *forge.NotFoundError
	if _, err := f.PullRequest(background(t), 4711); !errors.As(err, &gone) || !strings.Contains(err.Error(), "4711") {
		t.Error(err)
	}
}

func wrongToken(t *testing.T, w World, _ forge.Forge, _ Traits) {
	c := w.Config(t, Wrong)
	_, err := w.Open(t, c).PullRequests(background(t), time.Time{})
	var refused *forge.TokenError
	if !errors.As(err, &refused) || strings.Contains(err.Error(), string(c.Credentials.Token)) {
		t.Error(err)
	}
}

func missingScope(t *testing.T, w World, f forge.Forge, traits Traits) {
	head := ok(f.PullRequest(background(t), w.Create(t, Simple("scope"))))(t).Head.Commit
	c := w.Config(t, ReadOnly)
	err := w.Open(t, c).SetStatus(background(t), head, forge.Status{Name: "yuba", Result: forge.Pending, Description: "waits", URL: "https://yuba.example.com"})
	var scope *forge.ScopeError
	if !errors.As(err, &scope) || !strings.Contains(err.Error(), traits.Scope) || strings.Contains(err.Error(), string(c.Credentials.Token)) {
		t.Error(err)
	}
}

func renamed(t *testing.T, w World, _ forge.Forge, traits Traits) {
	n := w.Create(t, Simple("before"))
	c := w.Config(t, Full)
	w.Rename(t, "platform")
	f := w.Open(t, c)
	if traits.NoRedirects {
		var gone *forge.NotFoundError
		if _, err := f.Repository(background(t)); !errors.As(err, &gone) {
			t.Error(err)
		}
		return
	}
	r := ok(f.Repository(background(t)))(t)
	if !strings.HasSuffix(r.Name, "/platform") || r.Name != w.Name() {
		t.Errorf("its name is %s, want %s", r.Name, w.Name())
	}
	p := ok(f.PullRequest(background(t), n))(t)
	if err := f.SetStatus(background(t), p.Head.Commit, forge.Status{Name: "yuba", Result: forge.Success, URL: "https://yuba.example.com"}); err != nil {
		t.Error(err)
	}
	ok(f.SetComment(background(t), n, marker, "Found "+marker))(t)
}

func canceled(t *testing.T, _ World, f forge.Forge, _ Traits) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Repository(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
