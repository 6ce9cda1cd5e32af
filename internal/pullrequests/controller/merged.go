// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// mergedPatience is how long a merged pull request waits for its stacks.
const mergedPatience = 24 * time.Hour

// merge follows the stacks of a merged pull request until they have applied it.
func (r *Reconciler) merge(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull) error {
	if waits, err := r.handOver(ctx, m, l, p); waits || err != nil {
		return errors.Join(err, r.show(ctx, o, m, l, p))
	}
	if !p.Found || p.Head != p.Now.Head.Commit || len(p.Stacks) == 0 {
		return r.erase(ctx, m, p) // it changes no stack, or what was merged was not shown
	}
	if p.watched() {
		return r.look(ctx, o, m, l, p)
	}
	if p.Merged == nil {
		p.stop()
		made, err := r.reviewMerged(ctx, l, p)
		if err != nil {
			return err
		}
		p.Merged = made
	}
	r.fetchMerged(ctx, m, l, p)
	done := true
	for _, s := range p.Stacks {
		fate, err := r.follow(ctx, o, l, p, s)
		if err != nil {
			return err
		}
		done = done && fate == decide.Done
	}
	if err := r.results(ctx, o, m, l, p); err != nil {
		return err
	}
	over := p.Merged.At.Add(mergedPatience)
	if done || r.now().After(over) {
		p.watch()
		return nil
	}
	m.at(over)
	return nil
}

// review asks who has approved the planned head.
func (r *Reconciler) review(ctx context.Context, l *link, p *pull) (decide.Review, error) {
	reviews, err := l.forge.Reviews(ctx, p.Now.Number)
	if err != nil {
		return decide.Review{}, err
	}
	var opinions []decide.Opinion
	for _, one := range reviews {
		right, err := l.forge.Right(ctx, one.Who)
		var unsupported *forge.UnsupportedError
		if errors.As(err, &unsupported) {
			continue // nobody can be told from a guest
		}
		if err != nil {
			return decide.Review{}, err
		}
		opinions = append(opinions, decide.Opinion{Review: one, Right: right, Saw: p.saw(one.At)})
	}
	return p.judge(opinions), nil
}

// reviewMerged asks who has approved the planned head of a pull request that has just been merged. Nobody has, if it was
// merged into another branch, or its stacks have other owners by now.
func (r *Reconciler) reviewMerged(ctx context.Context, l *link, p *pull) (*merged, error) {
	review, err := r.review(ctx, l, p)
	if err != nil {
		return nil, err
	}
	out := &merged{At: r.now().UTC(), Commit: p.Now.MergeCommit, Approvers: review.Approvers, Objections: review.Objections}
	if out.Void, err = r.voided(ctx, l, p); err != nil {
		return nil, err
	}
	if out.Void != "" {
		out.Approvers = nil
	}
	return out, nil
}

// voided says why approvals of the planned head are not about the merge; empty if they are.
func (r *Reconciler) voided(ctx context.Context, l *link, p *pull) (string, error) {
	switch {
	case !p.Found || len(p.Stacks) == 0:
		return "", nil // there is nothing to approve
	case p.Base == "":
		return "the branch that the approved plans were made for is not known", nil
	case p.Base != p.Now.Base.Branch:
		return "its plans were made and approved for another branch than the one it was merged into", nil
	case r.Owners == nil || l.planner == nil || !l.planner.Spec.Approvals.CodeOwners:
		return "", nil
	}
	// The merge commit has CODEOWNERS of the branch just before the merge, unless the pull request itself changes it.
	changes, err := l.forge.ChangedFiles(ctx, p.Now.Number, l.forge.Limits().Files)
	if err != nil {
		return "", fmt.Errorf("find out whether the merged pull request %d changes CODEOWNERS: %w", p.Now.Number, err)
	}
	own := func(name string) bool { return slices.Contains(l.forge.Limits().Codeowners, name) }
	if changes.Incomplete || slices.ContainsFunc(namesOf(changes.Files), own) {
		return "it changes CODEOWNERS, or too many files to tell, so that the owners before the merge are not known", nil
	}
	err = r.sameOwners(ctx, l, p, cmp.Or(p.Now.MergeCommit, p.Now.Base.Branch))
	if errors.Is(err, errOwnersMoved) {
		return "CODEOWNERS of the target branch changed after the owners of its stacks were found", nil
	}
	return "", err
}

// judge judges opinions of the forge, and approvals by commands.
func (p *pull) judge(opinions []decide.Opinion) decide.Review {
	for _, a := range p.Approvals { // the right was asked for when the command came
		if digest := p.digest(); digest != "" && a.Plans == digest { // whoever approved other plans did not see these
			opinions = append(opinions, decide.Opinion{Review: forge.Review{Who: a.Who, Verdict: forge.Approved, Commit: p.Head, At: a.At}, Right: forge.Write, Saw: true})
		}
	}
	return decide.Judge(p.Now.Author, p.Head, opinions)
}

// follow looks at one stack of a merged pull request, and approves its plan if the review does.
func (r *Reconciler) follow(ctx context.Context, o *yubav1.PullRequestPlanner, l *link, p *pull, s *stack) (decide.Fate, error) {
	if s.State == comment.Applied {
		return decide.Done, nil
	}
	key := stackKey(s.Name)
	var t infrav1.Terraform
	if err := r.Client.Get(ctx, key, &t); apierrors.IsNotFound(err) {
		s.State, s.Reason = comment.Applied, "the stack is gone"
		return decide.Done, nil
	} else if err != nil {
		return "", fmt.Errorf("read the stack %s: %w", key, err)
	}
	if s.Via != "" {
		fate, why, err := r.followIncluded(ctx, l, p, s, &t)
		if err == nil {
			s.told(fate, why)
		}
		return fate, err
	}
	pending := t.Status.Plan.Pending
	same, err := r.same(ctx, l, p, s, &t)
	if err != nil {
		return "", err
	}
	fate, why := decide.AfterMerge(decide.Merged{Allowed: o.Spec.Merge.ApproveReviewed, Review: decide.Review{Approvers: p.Merged.Approvers, Objections: p.Merged.Objections}, Void: p.Merged.Void,
		Shown: s.approvable(), Commit: p.Merged.Commit, Planned: t.Status.LastPlannedRevision, Applied: t.Status.LastAppliedRevision,
		Pending: pending, Changes: t.Status.Plan.ChangesDigest, Approved: t.Status.Plan.Approved || pending != "" && t.Spec.ApprovePlan == pending,
		Same: same, OtherInputs: p.otherInputs(ctx, r, l, s, &t), Failed: failedAt(&t, p.Merged.Commit), OwnersMissing: l.missingOwners(s, p.Merged.Approvers)})
	by := accounts(p.Merged.Approvers)
	if fate == decide.Approve && (p.Of == "" || len(by) == 0) {
		fate, why = decide.Unreviewed, "the plan "+pending+" waits for an approval: the forge does not identify who approved the pull request"
	}
	if fate == decide.Approve {
		err := r.Approve(ctx, Approval{Stack: key, Plan: pending, Run: t.Status.Plan.RunID, Repository: p.Of, By: by, Comment: "pull request " + p.Now.URL})
		if err != nil {
			s.State, s.Reason = comment.Held, "the plan "+pending+" waits: "+err.Error()
			return fate, nil //nolint:nilerr // people read it in the pull request, and the next pass tries again
		}
		reconciling.Event(r.Events, &t, "Normal", yubav1.ReasonMergeApproved, "Approve", why+" in "+p.Now.URL)
	}
	s.told(fate, why)
	return fate, nil
}

// same reports whether the stack reads the same files in the merge commit as in the planned head. They are not known if
// the GitRepository has another commit by now.
func (r *Reconciler) same(ctx context.Context, l *link, p *pull, s *stack, t *infrav1.Terraform) (bool, error) {
	plan, commit := t.Status.Plan, p.Merged.Commit
	if s.Files == "" || commit == "" || plan.Pending == "" || plan.ChangesDigest != s.Digest || !strings.Contains(t.Status.LastPlannedRevision, commit) || !follows(t, l.source) {
		return false, nil
	}
	base, err := r.Sources.Base(ctx, l.source)
	if err != nil {
		return false, fmt.Errorf("read the merge commit: %w", err)
	}
	return strings.Contains(base.Revision, commit) && discover.Sum(base.Tree, readBy(t)) == s.Files, nil
}

// told sets what is shown of a stack after the merge.
func (s *stack) told(fate decide.Fate, why string) {
	s.Reason = why
	switch fate {
	case decide.Done:
		s.State, s.Reason = comment.Applied, ""
	case decide.Failed:
		s.State = comment.Failed
	case decide.Differs, decide.Unreviewed:
		s.State = comment.Held
	default:
		s.State = comment.Running
	}
}
