// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/dial"
)

// busy makes long plans, and counts how many are at work.
type busy struct {
	mu        sync.Mutex
	now, most int
	cancelled int
	gate      chan struct{}
}

func (b *busy) Plan(ctx context.Context, _ types.NamespacedName, _ *Source, _ []byte, _ *Identity, _ string) (Plan, error) {
	b.mu.Lock()
	b.now++
	b.most = max(b.most, b.now)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.now--; ctx.Err() != nil {
			b.cancelled++
		}
	}()
	select {
	case <-b.gate:
	case <-ctx.Done():
	}
	return Plan{Digest: "d", Text: strings.Repeat("  ~ changed\n", 500), Counts: comment.Counts{Change: 1}}, nil
}

func (b *busy) Inputs(context.Context, types.NamespacedName, string, bool) (string, error) {
	return "", nil
}

// shows is a forge that takes what is shown.
type shows struct {
	forge.Forge
	limits           forge.Limits
	writes, statuses int
	last             string
}

func (s *shows) Limits() forge.Limits { return s.limits }

func (s *shows) Comments(context.Context, int, time.Time) ([]forge.Comment, error) { return nil, nil }

func (s *shows) SetStatus(_ context.Context, _ string, _ forge.Status) error {
	s.statuses++
	return nil
}

func (s *shows) SetComment(_ context.Context, _ int, _, text string) (forge.Comment, error) {
	s.writes++
	s.last = text
	return forge.Comment{}, nil
}

// TestFourHundredStacksOfAPullRequest: few plans are at work, few comments are written, and each fits.
func TestFourHundredStacksOfAPullRequest(t *testing.T) {
	for _, kind := range []forge.Kind{forge.Gitea, forge.GitHub, forge.GitLab, forge.Bitbucket, forge.BitbucketServer, forge.AzureDevOps} {
		t.Run(string(kind), func(t *testing.T) {
			address := "https://git.example.com/acme/infra"
			if kind == forge.AzureDevOps {
				address = "https://git.example.com/acme/infra/_git/infra"
			}
			known, err := dial.Open(forge.Config{Kind: kind, Repository: address, Credentials: forge.Credentials{Token: "t"}})
			if err != nil {
				t.Fatal(err)
			}
			plans, f := &busy{gate: make(chan struct{})}, &shows{limits: known.Limits()}
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			r := &Reconciler{Log: slog.New(slog.DiscardHandler), Plans: plans, ctx: t.Context(), now: func() time.Time { return now }, woken: make(chan event.GenericEvent)}
			m := &memory{uid: "u", pulls: map[pullKey]*pull{}}
			l := &link{name: "infra", source: repository("infra"), forge: f}
			p := &pull{Source: "infra", Head: "head", Found: true, Now: forge.PullRequest{Number: 7, State: forge.Open}, source: &heldSource{Source: &Source{Close: func(context.Context) {}}, ctx: t.Context()}}
			p.Now.Head.Commit = p.Head
			for i := range maxChanged {
				p.Stacks = append(p.Stacks, &stack{Name: fmt.Sprintf("prod/stack-with-a-long-name-%03d", i), State: comment.Waiting})
			}
			m.pulls[p.key()] = p
			o := &yubav1.PullRequestPlanner{}
			passes := 0
			for pass := true; pass; passes++ {
				_, ended := m.news()
				for _, e := range ended {
					m.take(e)
				}
				if err := r.step(t.Context(), o, m, l, p); err != nil {
					t.Fatal(err)
				}
				if pass = p.source != nil; pass {
					now = now.Add(100 * time.Millisecond)
					plans.gate <- struct{}{}
					<-r.woken
				}
			}
			if waiting, running := p.numbers(); waiting+running > 0 || stateOf(p) != yubav1.PullRequestPlanned {
				t.Errorf("%d wait, %d are at work", waiting, running)
			}
			if plans.most > atOnce {
				t.Errorf("%d plans were at work", plans.most)
			}
			// 400 plans took 40 s: one comment every 3 s, the first, and the last.
			if f.writes > 16 || f.statuses > 17 {
				t.Errorf("%d comments and %d statuses were written in %d passes", f.writes, f.statuses, passes)
			}
			if len(f.last) > f.limits.Comment || !strings.Contains(f.last, "400 stacks") {
				t.Errorf("the comment has %d of %d bytes: %.200s", len(f.last), f.limits.Comment, f.last)
			}
		})
	}
}

// TestAPushEndsThePlansOfTheFormerHead: nobody waits for them, and what they still say is of no use.
func TestAPushEndsThePlansOfTheFormerHead(t *testing.T) {
	plans := &busy{gate: make(chan struct{})}
	r := &Reconciler{Log: slog.New(slog.DiscardHandler), Plans: plans, ctx: t.Context(), now: time.Now, woken: make(chan event.GenericEvent, 1)}
	closed := make(chan struct{})
	m := &memory{pulls: map[pullKey]*pull{}}
	p := &pull{Source: "infra", Head: "former", Found: true, source: &heldSource{Source: &Source{Close: func(context.Context) { close(closed) }}, ctx: t.Context()}}
	s := &stack{Name: "prod/a", State: comment.Waiting}
	p.Stacks = []*stack{s}
	m.pulls[p.key()] = p
	r.plan(m, &link{}, p, s)
	p.clear() // what discover does first about another head
	<-closed  // the source is removed once the plan has ended
	if plans.cancelled != 1 || p.Head != "" || len(p.Stacks) > 0 {
		t.Errorf("%d plans were cancelled, known is %+v", plans.cancelled, p)
	}
	m.take(ended{key: p.key(), stack: s, plan: Plan{Digest: "d"}})
	if _, late := m.news(); len(late) > 0 || s.Digest != "" {
		t.Errorf("what the former plan said counts: %+v", s)
	}
}
