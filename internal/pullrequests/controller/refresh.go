// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/hook"
)

// requestedAt is the annotation with which people ask for a pass.
const requestedAt = meta.ReconcileRequestAnnotation

// hookedInterval is how often to ask a forge that sends hooks: one may get lost.
const hookedInterval = time.Hour

// interval is how often to ask for all pull requests of a repository. The hooks of one say nothing about another, which
// may have none.
func (l *link) interval(o *yubav1.PullRequestPlanner) time.Duration {
	every := usual(o)
	if o.Spec.Webhook != nil && l.hooked {
		return max(every, hookedInterval)
	}
	return every
}

// usual is how often to ask a forge that sends no hooks.
func usual(o *yubav1.PullRequestPlanner) time.Duration {
	return max(o.Spec.Interval.Duration, time.Second)
}

// refresh finds out which pull requests there are: those that hooks name, or all of them.
func (r *Reconciler) refresh(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, hooks []hook.Event, asked bool) error {
	now := r.now()
	all := asked || len(hooks) >= maxHooks
	for _, e := range hooks {
		m.note(e)
	}
	var problems []error
	for _, l := range m.links {
		if all {
			l.polled = time.Time{}
		}
		if now.Before(l.until) {
			m.at(l.until)
			continue
		}
		if now.Sub(l.polled) >= l.interval(o) {
			err := r.list(ctx, o, m, l)
			limited(l, err)
			problems = append(problems, err)
			l.polled = now
		}
		m.at(l.polled.Add(l.interval(o)))
	}
	for _, l := range m.links {
		if l.pushed {
			l.pushed = false
			r.fetch(ctx, l.source)
		}
	}
	for _, p := range m.sorted() {
		l := m.links[p.Source]
		if !p.stale || l == nil || now.Before(l.until) {
			continue
		}
		err := r.ask(ctx, l, p)
		limited(l, err)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// note marks what a hook is about.
func (m *memory) note(e hook.Event) {
	for _, l := range m.links {
		if e.RepositoryID != "" && l.repository.ID != "" && e.RepositoryID != l.repository.ID ||
			(e.RepositoryID == "" || l.repository.ID == "") && !strings.EqualFold(e.Repository, l.repository.Name) {
			continue
		}
		l.hooked = true
		if e.Kind == hook.Push {
			m.pushed(l, e)
			l.pushed = l.pushed || tracks(l, e)
			continue
		}
		key := pullKey{l.name, e.Number}
		p := m.pulls[key]
		if p == nil {
			p = &pull{Source: l.name, Of: l.identity, Now: forge.PullRequest{Number: e.Number}}
			m.pulls[key] = p
		}
		p.stale = true
		p.listen = p.listen || e.Kind == hook.Comment
	}
}

// pushed marks the pull requests whose head a push moved. What a push to their base changes is seen
// after the merge.
func (m *memory) pushed(l *link, e hook.Event) {
	for _, p := range m.pulls {
		if p.Source == l.name && p.Now.Head.Branch == e.Branch && p.Now.Head.Commit != e.Commit {
			p.stale = true
		}
	}
}

// list lists the open pull requests, and marks those that are open no more.
func (r *Reconciler) list(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link) error {
	open, err := l.forge.PullRequests(ctx, time.Time{})
	if err != nil {
		return fmt.Errorf("GitRepository %s: %w", l.name, err)
	}
	seen := map[int]bool{}
	for _, now := range open {
		seen[now.Number] = true
		m.see(l, now, o.CreationTimestamp.Time, r.now())
	}
	for _, p := range m.pulls {
		if p.Source == l.name && !seen[p.Now.Number] && p.Merged == nil {
			p.stale = true
		}
	}
	return nil
}

// see takes what the forge says about a pull request.
func (m *memory) see(l *link, now forge.PullRequest, since, at time.Time) {
	key := pullKey{l.name, now.Number}
	p := m.pulls[key]
	if p == nil {
		p = &pull{Source: l.name, Of: l.identity}
		m.pulls[key] = p
	}
	if p.Read.IsZero() {
		p.Read = since
	}
	p.listen = p.listen || p.unheard(now.Updated, at)
	p.Now, p.stale = now, false
}

// ask asks for one pull request.
func (r *Reconciler) ask(ctx context.Context, l *link, p *pull) error {
	now, err := l.forge.PullRequest(ctx, p.Now.Number)
	var gone *forge.NotFoundError
	switch {
	case errors.As(err, &gone):
		// Forges say the same of what an account may not see any more, and a closed pull request loses its locks.
		if _, err := l.forge.Repository(ctx); err != nil {
			return fmt.Errorf("pull request %d of GitRepository %s: the forge does not find it, and the repository cannot be read: %w", p.Now.Number, p.Source, err)
		}
		// Nothing can be shown there any more.
		now = p.Now
		now.State = forge.Closed
	case err != nil:
		return fmt.Errorf("pull request %d of GitRepository %s: %w", p.Now.Number, p.Source, err)
	}
	if p.Read.IsZero() {
		p.Read = l.source.CreationTimestamp.Time
	}
	p.Now, p.stale = now, false
	return nil
}
