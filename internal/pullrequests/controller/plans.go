// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
)

// heldSource is a source with the plans that use it.
type heldSource struct {
	*Source
	// composed are those of including GitRepositories, by their name.
	composed map[string]*Source
	uses     sync.WaitGroup
	ctx      context.Context
}

// hold fetches the present head, unless it is here.
func (r *Reconciler) hold(ctx context.Context, l *link, p *pull) error {
	if p.source != nil {
		return nil
	}
	s, err := r.Sources.Head(ctx, l.source, p.Now)
	if err != nil {
		return err
	}
	p.source = &heldSource{Source: s, ctx: context.WithoutCancel(r.ctx)}
	return nil
}

// release removes the source once no plan uses it.
func (p *pull) release() {
	held := p.source
	if held == nil {
		return
	}
	p.source = nil
	go func() {
		held.uses.Wait()
		for _, one := range held.composed {
			one.Close(held.ctx)
		}
		held.Close(held.ctx)
	}()
}

// start begins plans.
func (r *Reconciler) start(ctx context.Context, m *memory, l *link, p *pull, n int) error {
	if err := r.hold(ctx, l, p); err != nil {
		return err
	}
	for _, s := range p.Stacks {
		if s.State != comment.Waiting || n == 0 {
			continue
		}
		n--
		if err := r.ready(ctx, m, l, p, s); err != nil {
			s.finish(Plan{}, err)
			continue
		}
		r.plan(m, l, p, s)
	}
	return nil
}

// ready composes the source of a stack, unless it is here.
func (r *Reconciler) ready(ctx context.Context, m *memory, l *link, p *pull, s *stack) error {
	if s.Via == "" || s.Elsewhere {
		return nil
	}
	including := m.selected(l.source.Namespace, s.Via)
	if including == nil {
		return fmt.Errorf("the GitRepository %s, which includes this repository, is gone", s.Via)
	}
	_, err := r.compose(ctx, m, l, p, including)
	return err
}

// plan begins the plan of a stack.
func (r *Reconciler) plan(m *memory, l *link, p *pull, s *stack) {
	ctx, cancel := context.WithCancel(r.ctx)
	s.State, s.cancel = comment.Running, cancel
	held, key, trigger := p.source, p.key(), fmt.Sprintf("pull request %d", p.Now.Number)
	source, manifest := held.Source, s.Manifest
	switch {
	case s.Elsewhere:
		source = nil
	case s.Via != "":
		source = held.composed[s.Via]
	}
	as := identityOf(l.planner)
	held.uses.Add(1)
	go func() {
		defer held.uses.Done()
		made, err := r.Plans.Plan(ctx, stackKey(s.Name), source, manifest, as, trigger)
		if ctx.Err() != nil {
			return // nobody waits for it any more
		}
		m.end(ended{key: key, stack: s, plan: made, err: err})
		r.wake(m.name)
	}()
}

const (
	// maxPlan limits the text of a plan. Comments have less.
	maxPlan = 48 << 10
	// maxError limits an error.
	maxError = 8 << 10
)

// finish takes the result of the plan.
func (s *stack) finish(made Plan, err error) {
	switch {
	case err != nil:
		s.State, s.Reason = comment.Failed, cut(err.Error(), maxError)
	case len(made.Needs) > 0:
		s.State, s.Reason = comment.Held, "it can be planned once others are applied: "+strings.Join(made.Needs, "; ")
	case made.Error != "":
		s.State, s.Problems, s.Verdicts = comment.Failed, placed(s.Path, made), made.Verdicts
	default:
		s.State, s.Counts, s.Outputs, s.Digest, s.Verdicts = comment.Planned, made.Counts, made.Outputs, made.Digest, made.Verdicts
		s.Reads = made.Reads.bounded()
		s.Inputs = made.Inputs
		s.Text, s.Partial = cut(made.Text, maxPlan), made.Partial || len(made.Text) > maxPlan
	}
}

// stackKey reads NAMESPACE/NAME.
func stackKey(stack string) types.NamespacedName {
	namespace, name, _ := strings.Cut(stack, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "\n…\n"
}

// maxProblems limits the problems of a stack.
const maxProblems = 10

// placed are the problems of a plan with places in the repository. A path that leads out of it ends at its root.
func placed(dir string, made Plan) (out []comment.Problem) {
	for _, p := range made.Problems[:min(len(made.Problems), maxProblems)] {
		p.Detail = cut(p.Detail, maxError)
		if p.Path != "" {
			p.Path = strings.TrimPrefix(path.Join("/", dir, p.Path), "/")
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		summary, detail, _ := strings.Cut(cut(made.Error, maxError), "\n")
		out = []comment.Problem{{Summary: summary, Detail: strings.TrimSpace(detail)}}
	}
	return out
}
