// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// locked is a forge whose conversation is locked: it shows comments, and refuses reactions.
type locked struct {
	forge.Forge
	comments []forge.Comment
	refusal  error
	rights   error
}

func (l *locked) Comments(context.Context, int, time.Time) ([]forge.Comment, error) {
	return l.comments, nil
}

func (l *locked) Right(context.Context, forge.User) (forge.Right, error) {
	return forge.Write, l.rights
}

func (l *locked) Limits() forge.Limits { return forge.Limits{Reactions: true} }

func (l *locked) React(context.Context, int, string, forge.Reaction) error { return l.refusal }

func TestACommandIsDoneOnceThoughNobodyCanReact(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	until := now.Add(time.Minute)
	for name, test := range map[string]struct {
		refusal, rights error
		done            []string
		fails           bool
		until           time.Time
	}{
		"the conversation is locked":              {refusal: &forge.RefusedError{Doing: "react", Reason: "locked"}, done: []string{"c1"}},
		"the forge limits requests":               {refusal: &forge.LimitedError{Doing: "react", Until: until}, done: []string{"c1"}, until: until},
		"all is well":                             {done: []string{"c1"}},
		"the rights are not known: read it again": {rights: errors.New("down"), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &locked{comments: []forge.Comment{{ID: "c1", Author: forge.User{Name: "bob"}, Text: "/yuba plan", Created: now}}, refusal: test.refusal, rights: test.rights}
			r := &Reconciler{Log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }}
			l := &link{name: "infra", forge: f}
			p := &pull{Source: "infra", listen: true, Now: forge.PullRequest{Number: 7, State: forge.Open}}
			if err := r.obey(t.Context(), &memory{uid: "u"}, l, p); (err != nil) != test.fails {
				t.Fatalf("the pass over the pull request: %v", err)
			}
			if !slices.Equal(p.Done, test.done) || p.listen != test.fails {
				t.Errorf("handled are %v, read again: %t", p.Done, p.listen)
			}
			if !l.until.Equal(test.until) {
				t.Errorf("the forge is asked again at %v, want %v", l.until, test.until)
			}
		})
	}
}

// TestCommentsOfOneSecondAreRead: forges count changes in seconds, so that one second can have a comment that was read and
// one that was not.
func TestCommentsOfOneSecondAreRead(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := start
	f := &locked{}
	r := &Reconciler{Log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }}
	l, m := &link{name: "infra", forge: f}, &memory{uid: "u", pulls: map[pullKey]*pull{}}
	poll := func(after time.Duration) *pull {
		now = start.Add(after)
		m.see(l, forge.PullRequest{Number: 7, State: forge.Open, Updated: start}, start, now)
		p := m.pulls[pullKey{"infra", 7}]
		listens := p.listen
		if err := r.obey(t.Context(), m, l, p); err != nil {
			t.Fatal(err)
		}
		p.listen = listens
		return p
	}
	reads := func(after time.Duration) bool { p := poll(after); was := p.listen; p.listen = false; return was }
	if !reads(300 * time.Millisecond) {
		t.Error("what is new is not read")
	}
	if reads(900 * time.Millisecond) {
		t.Error("it is read again within the second")
	}
	f.comments = []forge.Comment{{ID: "c1", Author: forge.User{Name: "bob"}, Text: "/yuba plan", Created: start}}
	if p := poll(3 * time.Second); !slices.Contains(p.Done, "c1") {
		t.Error("a later comment of the same second is lost")
	}
	m.pulls[pullKey{"infra", 7}].listen = false
	if reads(6*time.Second) || reads(time.Hour) {
		t.Error("nothing has changed, and it is read again")
	}
}
