// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// applying are the requests to apply a head before its merge. Approvals are not a part: they are asked for again whenever
// they matter, as reviews can be withdrawn.
type applying struct {
	// Commit is the head.
	Commit string
	Wanted []wanted
}

// wanted is a request for one stack, and for the plan that was shown then.
type wanted struct {
	Stack string
	By    forge.User
	At    time.Time
	// Plan, Files and Inputs identify what was shown.
	Plan, Files, Inputs string
}

// is reports whether the request is for the plan that the stack has now.
func (w *wanted) is(s *stack) bool {
	return w.Stack == s.Name && w.Plan != "" && w.Plan == s.Digest && w.Files == s.Files && w.Inputs == s.Inputs
}

// wants notes a request. One for some stacks does not end one for others.
func (p *pull) wants(by forge.User, at time.Time, stacks []*stack) {
	if p.Apply == nil || p.Apply.Commit != p.Head {
		p.Apply = &applying{Commit: p.Head}
	}
	for _, s := range stacks {
		if s.candidate().Applies() {
			p.forgo(s.Name)
			p.Apply.Wanted = append(p.Apply.Wanted, wanted{Stack: s.Name, By: by, At: at, Plan: s.approvable(), Files: s.Files, Inputs: s.Inputs})
		}
	}
}

// forgo ends the request for a stack.
func (p *pull) forgo(name string) {
	p.Apply.Wanted = slices.DeleteFunc(p.Apply.Wanted, func(w wanted) bool { return w.Stack == name })
}

// wanted is the request for the plan that a stack has now, nil without one.
func (p *pull) wanted(s *stack) *wanted {
	if p.Apply == nil || p.Apply.Commit != p.Head {
		return nil
	}
	for i := range p.Apply.Wanted {
		if p.Apply.Wanted[i].is(s) {
			return &p.Apply.Wanted[i]
		}
	}
	return nil
}

// outdated ends the requests for plans that the stacks do not have any more. Nobody asked to apply the present ones.
func (p *pull) outdated() (answers []string) {
	for _, w := range slices.Clone(p.Apply.Wanted) {
		s := p.find(w.Stack)
		if s != nil && (s.State == comment.Waiting || s.State == comment.Running || w.is(s)) {
			continue
		}
		p.forgo(w.Stack)
		answers = append(answers, "The request to apply `"+w.Stack+"` is over, as its plan has changed since. Look at the present one, and repeat the command.")
	}
	return answers
}

// requires reports whether the planner requires something of an apply before the merge.
func (l *link) requires(what string) bool {
	return slices.Contains(l.planner.Spec.Apply.Requirements, what)
}

// request are the present facts about a request to apply stacks.
func (l *link) request(p *pull, commit string, review decide.Review, stacks []*stack) decide.Request {
	waiting, running := p.numbers()
	request := decide.Request{Enabled: l.planner.Spec.Apply.When == yubav1.ApplyBeforeMerge, Approved: l.requires(yubav1.RequireApproved), Owners: l.planner.Spec.Approvals.CodeOwners,
		Now: p.Now, Head: p.Head, Found: p.Found, Commit: commit, Busy: waiting + running, Review: review}
	var owners [][]string
	for _, s := range stacks {
		request.Stacks, owners = append(request.Stacks, s.candidate()), append(owners, s.Owners...)
	}
	request.OwnersMissing = decide.MissingOwners(owners, review.Approvers)
	return request
}

// lockAll locks the wanted stacks that are not locked yet, if the request for them would still be taken. What costs
// requests to the forge and fetches is not asked for before something can be locked.
func (r *Reconciler) lockAll(ctx context.Context, m *memory, l *link, p *pull, look func() (decide.Review, error)) (answers []string, err error) {
	open, live, answers, err := r.lockable(ctx, m, l, p)
	if err != nil || len(open) == 0 {
		return answers, err
	}
	review, err := look()
	if err != nil {
		return answers, err
	}
	var left []*stack
	for _, s := range open {
		if refusal := decide.Refusal(l.request(p, p.Apply.Commit, review, []*stack{s})); refusal != "" {
			p.forgo(s.Name)
			answers = append(answers, "Not applied: `"+s.Name+"`. "+refusal)
			continue
		}
		left = append(left, s)
	}
	if len(left) > 0 && l.requires(yubav1.RequireUndiverged) {
		why, err := r.diverged(ctx, l, p, left, live)
		if err != nil {
			return answers, err
		}
		if why != "" {
			p.Apply = nil
			return append(answers, "Not applied: "+why), nil
		}
	}
	if len(left) == 0 {
		return answers, nil
	}
	return answers, r.lockEach(ctx, m, l, p, left)
}

// lockable are the wanted stacks that nothing keeps from being locked, as they are in the API.
func (r *Reconciler) lockable(ctx context.Context, m *memory, l *link, p *pull) (open []*stack, live map[string]*infrav1.Terraform, answers []string, err error) {
	live = map[string]*infrav1.Terraform{}
	for _, s := range p.Stacks {
		held := slices.ContainsFunc(m.holds[p.key()], func(t *infrav1.Terraform) bool {
			return t.Namespace+"/"+t.Name == s.Name && t.PullRequestHold().Commit == p.Head
		})
		if held || p.wanted(s) == nil || !s.candidate().Applies() {
			continue
		}
		t, err := r.live(ctx, s.Name)
		if err == nil {
			err = m.obstacle(l, p, t)
		}
		var blocked *blockedError
		switch {
		case errors.As(err, &blocked):
			if circle := decide.Circle(decide.Waiting{By: p.key().String(), For: blocked.by.String(), Since: p.wanted(s).At}, m.waits()); circle != nil {
				p.forgo(s.Name)
				answers = append(answers, fmt.Sprintf("Not applied: `%s`. These pull requests wait for each other's stacks: %s. The request for this one is the latest, and ends. `/yuba unlock` here lets the others go on.", s.Name, strings.Join(circle, ", ")))
				continue
			}
			s.progress = &progress{state: comment.Held, reason: blocked.why, blocks: blocked.by}
			m.at(r.now().Add(blockedPause))
		case err != nil:
			return nil, nil, answers, err
		default:
			open, live[s.Name] = append(open, s), t
		}
	}
	return open, live, answers, nil
}

// waits are the requests that wait for a stack that another pull request of the planner has locked.
func (m *memory) waits() (all []decide.Waiting) {
	for key, p := range m.pulls {
		for _, s := range p.Stacks {
			w := p.wanted(s)
			if w == nil || s.progress == nil || !slices.ContainsFunc(m.holds[s.progress.blocks], func(t *infrav1.Terraform) bool { return t.Namespace+"/"+t.Name == s.Name }) {
				continue // what it waited for may be over by now
			}
			all = append(all, decide.Waiting{By: key.String(), For: s.progress.blocks.String(), Since: w.At})
		}
	}
	return all
}

// lockEach makes the pin of the head, and locks stacks.
func (r *Reconciler) lockEach(ctx context.Context, m *memory, l *link, p *pull, open []*stack) error {
	var blocked *blockedError
	if _, err := r.pin(ctx, m, l, p.Head); errors.As(err, &blocked) {
		for _, s := range open {
			s.progress = &progress{state: comment.Held, reason: blocked.why}
		}
		return nil
	} else if err != nil {
		return err
	}
	for _, s := range open {
		t, err := r.lock(ctx, m, l, p, s.Name, r.now())
		switch {
		case errors.As(err, &blocked):
			s.progress = &progress{state: comment.Held, reason: blocked.why, blocks: blocked.by}
			m.at(r.now().Add(blockedPause))
		case err != nil:
			return err
		default:
			// The cache does not have this version yet.
			kept := slices.DeleteFunc(m.holds[p.key()], func(o *infrav1.Terraform) bool { return o.UID == t.UID })
			m.holds[p.key()] = append(kept, t)
		}
	}
	return nil
}

// blockedPause is how soon a locked stack is looked at again. What one planner releases is seen at once.
const blockedPause = 30 * time.Second

// diverged says which stacks have files that a merge would not make of the present base; empty for none.
func (r *Reconciler) diverged(ctx context.Context, l *link, p *pull, stacks []*stack, live map[string]*infrav1.Terraform) (why string, err error) {
	changes, err := l.forge.ChangedFiles(ctx, p.Now.Number, l.forge.Limits().Files)
	if err != nil {
		return "", err
	}
	if changes.Incomplete {
		return fmt.Sprintf("the forge does not list all changed files of this pull request (it lists %d at most), so that nobody knows what a merge makes of the stacks' files. Apply after the merge, split the pull request, or take `Undiverged` out of `spec.apply.requirements` of the PullRequestPlanner.", l.forge.Limits().Files), nil
	}
	base, err := r.Sources.Head(ctx, l.source, forge.PullRequest{Head: forge.End{Branch: p.Now.Base.Branch}})
	if err != nil {
		return "", fmt.Errorf("fetch the branch %s: %w", p.Now.Base.Branch, err)
	}
	defer base.Close(context.WithoutCancel(ctx))
	if err := r.hold(ctx, l, p); err != nil {
		return "", err
	}
	defer p.release()
	head := p.source.Tree
	merged := discover.Merged(base.Tree, head, namesOf(changes.Files))
	var behind []string
	for _, s := range stacks {
		if reads := readBy(live[s.Name]); discover.Sum(merged, reads) != discover.Sum(head, reads) {
			behind = append(behind, s.Name)
		}
	}
	if len(behind) == 0 {
		return "", nil
	}
	return "the base has other files of `" + strings.Join(behind, "`, `") + "` than the branch. Merge the base into the branch, look at the new plans, and repeat the command.", nil
}
