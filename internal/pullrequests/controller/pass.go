// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// pass does what is to be done about a planner. Its error is for the status; what can be done is done
// all the same.
func (r *Reconciler) pass(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory) error {
	problems := []error{r.connect(ctx, o, m)}
	if problems[0] != nil {
		m.at(r.now().Add(usual(o)))
	}
	problems = append(problems, r.disown(ctx, m))
	hooks, plans := m.news()
	defer r.busy(len(hooks) > 0)()
	for _, e := range plans {
		m.take(e)
	}
	request := o.GetAnnotations()[requestedAt]
	asked := request != "" && request != m.handled
	if err := r.findHolds(ctx, m); err != nil {
		// What follows decides on them.
		m.at(r.now().Add(usual(o)))
		return errors.Join(append(problems, err)...)
	}
	problems = append(problems, r.refresh(ctx, o, m, hooks, asked))
	if asked {
		m.handled = request
		planAnew(m, o.GetAnnotations()[yubav1.AnnotationPlanPullRequest])
	}
	for _, p := range m.sorted() {
		l := m.links[p.Source]
		if l == nil || r.now().Before(l.until) {
			continue
		}
		if err := r.step(ctx, o, m, l, p); err != nil {
			problems = append(problems, fmt.Errorf("pull request %d of GitRepository %s: %w", p.Now.Number, p.Source, err))
			m.at(r.now().Add(pause(&p.failures)))
			limited(l, err)
		} else if r.now().After(p.retry) {
			p.failures = 0
		}
		if m.pulls[p.key()] == p {
			problems = append(problems, r.store(ctx, m, p))
		}
	}
	problems = append(problems, r.unpin(ctx, m))
	m.remember()
	return errors.Join(problems...)
}

// passes counts the passes that look at what webhooks are about.
type passes struct {
	mu  sync.Mutex
	now int
}

// add counts one more or less, and tells whether there are any. The lock keeps what is told in order.
func (p *passes) add(n int, tell func(bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now += n
	tell(p.now > 0)
}

// busy says that there is work until the returned function is called. Polls that find nothing are none.
func (r *Reconciler) busy(some bool) (end func()) {
	if !some || r.Busy == nil {
		return func() {}
	}
	r.looking.add(1, r.Busy)
	return func() { r.looking.add(-1, r.Busy) }
}

// disown forgets what another repository, or another server, said. Its people must not approve here.
func (r *Reconciler) disown(ctx context.Context, m *memory) error {
	var problems []error
	for _, p := range m.sorted() {
		if l := m.links[p.Source]; l != nil && l.identity != p.Of {
			problems = append(problems, r.erase(ctx, m, p))
		}
	}
	return errors.Join(problems...)
}

// pause is how long to wait after so many failures.
func pause(failures *int) time.Duration {
	*failures = min(*failures+1, 6)
	return time.Second << *failures
}

// limited notes when a forge that limits requests may be asked again.
func limited(l *link, err error) {
	var limit *forge.LimitedError
	if errors.As(err, &limit) {
		l.until = limit.Until
	}
}

// take takes the end of a plan. One of an earlier head is gone from the list.
func (m *memory) take(e ended) {
	p := m.pulls[e.key]
	if p != nil && e.foretold != nil {
		p.took(e.foretold)
		return
	}
	if p == nil || !slices.Contains(p.Stacks, e.stack) || e.stack.cancel == nil {
		return
	}
	e.stack.cancel()
	e.stack.cancel = nil
	e.stack.finish(e.plan, e.err)
	if waiting, running := p.numbers(); waiting+running == 0 {
		p.release()
	}
}

// planAnew makes the plans of one pull request be made again, at a person's request: the number, or SOURCE#NUMBER.
func planAnew(m *memory, which string) {
	if which == "" {
		return
	}
	for _, p := range m.pulls {
		number := fmt.Sprint(p.Now.Number)
		if which == number || which == "#"+number || which == p.Source+"#"+number {
			p.replan(nil)
		}
	}
}

// remember notes which stacks are awaited after merges.
func (m *memory) remember() {
	awaited := map[string]bool{}
	for _, p := range m.pulls {
		if p.Merged == nil || p.watched() {
			continue
		}
		for _, s := range p.Stacks {
			if s.State != comment.Applied {
				awaited[s.Name] = true
			}
		}
	}
	for _, held := range m.holds {
		for _, t := range held {
			awaited[t.Namespace+"/"+t.Name] = true
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.merged, m.watched = awaited, m.watchedStacks()
}
