// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/pullrequests/command"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// progress is how far a stack is that is held for an open pull request, or should be.
type progress struct {
	state  comment.State
	reason string
	// commit is the one that the stack runs; empty if it does not run one of the pull request.
	commit string
	// blocks is the pull request that has the stack.
	blocks pullKey
}

// candidate are the facts about a stack for a request.
func (s *stack) candidate() decide.Candidate {
	return decide.Candidate{Name: s.Name, Manifest: len(s.Fields) > 0 || s.Fate != comment.Stays || len(s.Manifest) > 0 || s.Elsewhere || s.Via != "",
		Planned: s.State == comment.Planned, Shown: s.approvable() != "", Changes: !s.Counts.Zero() || s.Outputs > 0 || s.Text != "",
		Refused: slices.ContainsFunc(s.Verdicts, func(v comment.Verdict) bool { return v.Refuses })}
}

// applyCommand takes a request to apply, or to unlock. The answer is Markdown without foreign text.
func (r *Reconciler) applyCommand(ctx context.Context, m *memory, l *link, p *pull, by forge.User, at time.Time, c command.Command) (answer string, ok bool, err error) {
	var unknown []string
	for _, name := range c.Stacks {
		if p.find(name) == nil && !slices.ContainsFunc(m.holds[p.key()], func(t *infrav1.Terraform) bool { return (&stack{Name: t.Namespace + "/" + t.Name}).is(name) }) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return notChanged(unknown), false, nil
	}
	if c.Verb == command.Unlock {
		return r.unlock(ctx, m, p, c.Stacks)
	}
	review, err := r.reviewNow(ctx, l, p)
	if errors.Is(err, errOwnersMoved) {
		p.replan(nil)
		return "CODEOWNERS of the target branch has changed since these plans were shown. Yuba finds the owners anew: look at the comment, and repeat the command.", false, nil
	}
	if err != nil {
		return "", false, err
	}
	var stacks []*stack
	for _, s := range p.Stacks {
		if len(c.Stacks) == 0 || slices.ContainsFunc(c.Stacks, s.is) {
			stacks = append(stacks, s)
		}
	}
	if refusal := decide.Refusal(l.request(p, c.Commit, review, stacks)); refusal != "" {
		return refusal, false, nil
	}
	p.wants(by, at, stacks)
	return "", true, nil
}

func (r *Reconciler) unlock(ctx context.Context, m *memory, p *pull, names []string) (string, bool, error) {
	freed, err := r.free(ctx, m, p, names, false)
	switch {
	case err != nil:
		return "", false, err
	case len(names) == 0:
		p.Apply = nil
	case p.Apply != nil:
		p.Apply.Wanted = slices.DeleteFunc(p.Apply.Wanted, func(w wanted) bool { return slices.ContainsFunc(names, (&stack{Name: w.Stack}).is) })
	}
	if len(freed) == 0 {
		return "This pull request has locked no such stack.", false, nil
	}
	return returning(freed), true, nil
}

// reviewNow asks who has approved the planned head, and makes sure that the owners of its stacks are still the present ones.
func (r *Reconciler) reviewNow(ctx context.Context, l *link, p *pull) (decide.Review, error) {
	if err := r.sameOwners(ctx, l, p, p.Now.Base.Branch); err != nil {
		return decide.Review{}, err
	}
	return r.review(ctx, l, p)
}

// applyBefore locks the stacks of a request, and approves the plans that they then have.
func (r *Reconciler) applyBefore(ctx context.Context, m *memory, l *link, p *pull) error {
	err := r.goOn(ctx, m, l, p)
	if errors.Is(err, errOwnersMoved) {
		p.replan(nil) // requests and approvals stay if the plans are the same
		return nil
	}
	return err
}

// goOn does the next steps of a request.
func (r *Reconciler) goOn(ctx context.Context, m *memory, l *link, p *pull) error {
	for _, s := range p.Stacks {
		s.progress = nil
	}
	if p.Now.State != forge.Open {
		return nil
	}
	waiting, running := p.numbers()
	if p.Apply != nil && (p.Apply.Commit != p.Now.Head.Commit || l.planner.Spec.Apply.When != yubav1.ApplyBeforeMerge) {
		p.Apply = nil // a push ends it
	}
	look := sync.OnceValues(func() (decide.Review, error) { return r.reviewNow(ctx, l, p) })
	if p.Apply != nil && p.Found && p.Head == p.Apply.Commit {
		var err error
		answers := p.outdated()
		if waiting+running == 0 {
			var more []string
			more, err = r.lockAll(ctx, m, l, p, look)
			answers = append(answers, more...)
		}
		if len(answers) > 0 {
			err = errors.Join(err, r.answer(ctx, m, l, p, answers))
		}
		if err != nil {
			return err
		}
	}
	for _, t := range m.holds[p.key()] {
		s, h := p.find(t.Namespace+"/"+t.Name), t.PullRequestHold()
		if s == nil || h == nil {
			continue
		}
		if h.Commit != p.Head {
			s.progress = &progress{commit: h.Commit, state: s.State, reason: fmt.Sprintf("the stack runs commit %.12s of this pull request", h.Commit)}
			continue
		}
		if err := r.advance(ctx, l, p, s, t, h, look); err != nil {
			return err
		}
	}
	for _, s := range p.Stacks {
		s.waitedFor(m, p)
	}
	return nil
}

// waitedFor says that other pull requests wait for a stack that this one has locked.
func (s *stack) waitedFor(m *memory, p *pull) {
	if s.progress == nil || s.progress.commit == "" {
		return
	}
	for _, other := range m.sorted() {
		if o := other.find(s.Name); other != p && o != nil && o.progress != nil && o.progress.blocks == p.key() {
			s.progress.reason = strings.TrimPrefix(s.progress.reason+fmt.Sprintf("; pull request %s#%d waits for this stack", other.Source, other.Now.Number), "; ")
		}
	}
}

// advance looks at a stack that runs the head, and approves its plan if it is the shown one.
func (r *Reconciler) advance(ctx context.Context, l *link, p *pull, s *stack, t *infrav1.Terraform, h *infrav1.PullRequestHold, look func() (decide.Review, error)) error {
	s.progress = &progress{commit: h.Commit, state: comment.Applying}
	pin, err := r.pinned(ctx, l, t, h)
	if err != nil {
		return err
	}
	if pin == nil {
		s.progress.state, s.progress.reason = comment.Held, fmt.Sprintf("the GitRepository %s with the commit is gone: /yuba unlock, and apply again", h.Source)
		return nil
	}
	if err := r.freeze(ctx, pin); err != nil {
		return err
	}
	plan := t.Status.Plan
	facts := decide.Merged{Allowed: true, Shown: s.approvable(), Commit: h.Commit, Planned: t.Status.LastPlannedRevision, Applied: t.Status.LastAppliedRevision,
		Pending: plan.Pending, Changes: plan.ChangesDigest, Approved: approvedPlan(t), Failed: failedApply(t)}
	w := p.wanted(s)
	if w == nil {
		facts.Refusal = "Nobody has asked to apply what is shown now: look at it, and use `/yuba apply`."
	} else if facts.Pending != "" && strings.Contains(facts.Planned, h.Commit) && facts.Shown != "" && facts.Changes == facts.Shown {
		base, err := r.Sources.Base(ctx, pin)
		if err != nil {
			return fmt.Errorf("read the commit %s: %w", h.Commit, err)
		}
		facts.Same = s.Files != "" && strings.Contains(base.Revision, h.Commit) && discover.Sum(base.Tree, readBy(t)) == s.Files
		facts.OtherInputs = p.otherInputs(ctx, r, l, s, t)
		if facts.Review, err = look(); err != nil {
			return err
		}
		facts.Refusal = decide.Refusal(l.request(p, p.Apply.Commit, facts.Review, []*stack{s}))
	}
	asked := w != nil && len(facts.Review.Approvers) == 0 && !l.requires(yubav1.RequireApproved)
	if asked {
		facts.Review.Approvers = []forge.User{w.By}
	}
	if asked && facts.Refusal == "" && t.NeedsRecordedApprovals() {
		facts.Refusal = "Policies require an approval, and whoever asks for the apply does not give it: review the pull request, or approve on the server."
	}
	fate, why := decide.BeforeMerge(facts)
	if fate == decide.Approve {
		by := accounts(facts.Review.Approvers)
		if p.Of == "" || len(by) == 0 {
			fate, why = decide.Unreviewed, "the plan "+plan.Pending+" waits for an approval: the forge does not identify who approved the pull request"
		} else if err := r.Approve(ctx, Approval{Stack: types.NamespacedName{Namespace: t.Namespace, Name: t.Name}, Plan: plan.Pending, Run: plan.RunID, Repository: p.Of, By: by, Asked: asked,
			Comment: "pull request " + p.Now.URL + ", applied before its merge by " + text(w.By.Name, maxTitle)}); err != nil {
			fate, why = decide.Unreviewed, "the plan "+plan.Pending+" waits: "+err.Error()
		} else {
			reconciling.Event(r.Events, t, corev1.EventTypeNormal, yubav1.ReasonMergeApproved, "Approve", why+" in "+p.Now.URL)
		}
	}
	s.progress.told(fate, why)
	return nil
}

func (g *progress) told(fate decide.Fate, why string) {
	switch fate {
	case decide.Done:
		g.state, g.reason = comment.Applied, ""
	case decide.Differs, decide.Unreviewed:
		g.state, g.reason = comment.Held, why
	default:
		g.state, g.reason = comment.Applying, why
	}
}

// approvedPlan reports whether the pending plan is approved already.
func approvedPlan(t *infrav1.Terraform) bool {
	plan := t.Status.Plan
	return plan.Pending != "" && (plan.Approved || t.Spec.ApprovePlan == plan.Pending || t.AppliesByItself() && t.Annotations[infrav1.AnnotationApproved] == plan.Pending && !t.NeedsRecordedApprovals())
}

// failedApply says that the last apply of a stack failed; empty if it did not.
func failedApply(t *infrav1.Terraform) string {
	if t.Status.LastFailedApply == nil {
		return ""
	}
	return "its last apply failed: `yuba logs " + t.Name + " -n " + t.Namespace + " --run " + t.Status.LastFailedApply.ID + "` has the error"
}

// otherInputs reports whether the pending plan was made with other values of inputs than the shown one. What is not known
// counts as other.
func (p *pull) otherInputs(ctx context.Context, r *Reconciler, l *link, s *stack, t *infrav1.Terraform) bool {
	if t.Status.Plan.Pending == "" || t.Status.Plan.RunID == "" {
		return false
	}
	now, err := r.Plans.Inputs(ctx, types.NamespacedName{Namespace: t.Namespace, Name: t.Name}, t.Status.Plan.RunID, identityOf(l.planner) != nil)
	if err != nil {
		r.Log.Warn("cannot compare the inputs of a plan with those of the reviewed one", "stack", s.Name, "pullRequest", p.Now.Number, "error", err)
	}
	return err != nil || s.Inputs == "" || now != s.Inputs
}

// identityOf is the identity of a planner's plans, nil for those of the stacks.
func identityOf(o *yubav1.PullRequestPlanner) *Identity {
	if o == nil || o.Spec.Plans == nil || o.Spec.Plans.ServiceAccountName == "" && len(o.Spec.Plans.SecretRefs) == 0 {
		return nil
	}
	out := &Identity{ServiceAccount: o.Spec.Plans.ServiceAccountName}
	for _, ref := range o.Spec.Plans.SecretRefs {
		out.Secrets = append(out.Secrets, ref.Name)
	}
	return out
}
