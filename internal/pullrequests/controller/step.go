// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

const (
	// atOnce is how many plans of one planner are at work. The queue of runs decides which of them
	// really run.
	atOnce = 8
	// maxSteps ends a pass over a pull request that decides the same again and again.
	maxSteps = 4
)

// step makes a pass over one pull request.
func (r *Reconciler) step(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull) error {
	if p.Merged == nil {
		p.retarget()
		if err := r.obey(ctx, m, l, p); err != nil {
			return err
		}
		if err := r.applyBefore(ctx, m, l, p); err != nil {
			return err
		}
	}
	for range maxSteps {
		d := decide.Decide(r.facts(m, l, p))
		r.Log.Debug("decided", "planner", m.name.String(), "pullRequest", p.Now.Number, "verb", d.Verb, "reason", d.Reason)
		switch d.Verb {
		case decide.End:
			if err := r.abandon(ctx, m, l, p); err != nil {
				return err
			}
			return r.erase(ctx, m, p)
		case decide.Leave:
			if err := r.abandon(ctx, m, l, p); err != nil {
				return err
			}
			p.clear()
			p.Left = d.Reason
			return r.setApplyStatus(ctx, o, m, l, p) // branch protection may require it
		case decide.Merge:
			return r.merge(ctx, o, m, l, p)
		case decide.Hold:
			if p.Held != d.Reason {
				p.clear()
				p.Held = d.Reason
			}
			return r.show(ctx, o, m, l, p)
		case decide.Discover:
			if r.now().Before(p.retry) {
				m.at(p.retry)
				return r.show(ctx, o, m, l, p)
			}
			if err := r.discover(ctx, o, m, l, p); err != nil {
				return r.moved(ctx, m, l, p, err)
			}
		case decide.Start:
			if err := r.start(ctx, m, l, p, d.Begin); err != nil {
				return r.moved(ctx, m, l, p, err)
			}
			return r.show(ctx, o, m, l, p)
		case decide.Rest:
			if err := r.lookBehind(ctx, o, m, l, p); err != nil {
				return r.moved(ctx, m, l, p, err)
			}
			return r.show(ctx, o, m, l, p)
		default:
			return r.show(ctx, o, m, l, p)
		}
	}
	return r.show(ctx, o, m, l, p)
}

// retarget forgets the plans of an open pull request that has got another branch to merge into: it changes other files, and
// the approvals were about another merge. An unknown branch of a former version's record is another one.
func (p *pull) retarget() {
	if p.Found && p.Now.State == forge.Open && p.Base != p.Now.Base.Branch {
		p.clear()
	}
}

// moved asks for the pull request again if there was a push since; other errors stay.
func (r *Reconciler) moved(ctx context.Context, m *memory, l *link, p *pull, err error) error {
	var moved *MovedError
	if !errors.As(err, &moved) {
		return err
	}
	p.retry = r.now().Add(time.Second)
	m.at(p.retry)
	return r.ask(ctx, l, p)
}

func (r *Reconciler) facts(m *memory, l *link, p *pull) decide.Pull {
	busy := 0
	for _, other := range m.pulls {
		_, running := other.numbers()
		busy += running
	}
	waiting, running := p.numbers()
	return decide.Pull{Rules: l.rules, Now: p.Now, Head: p.Head, Found: p.Found, Allowed: p.Allowed, Waiting: waiting, Running: running, Room: max(atOnce-busy, 0)}
}

// problem sets a problem of the whole pull request, to be tried again later.
func (p *pull) problem(summary, detail string) {
	p.Problems = []comment.Problem{{Summary: summary, Detail: detail}}
}
