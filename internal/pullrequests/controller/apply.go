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

// applying is a request to apply a head before its merge.
type applying struct {
	// Commit is the head.
	Commit string
	By     forge.User
	At     time.Time
	// Stacks are the names of the wanted stacks, Plans the digests of their plans: a plan that is made later needs a new request.
	Stacks []string
	Plans  map[string]string
	// Approvers are those who approved the plans, or who asked for the apply if nobody must.
	Approvers []forge.User
}

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
	spec := &l.planner.Spec
	request := decide.Request{Enabled: spec.Apply.When == yubav1.ApplyBeforeMerge, Approved: slices.Contains(spec.Apply.Requirements, yubav1.RequireApproved),
		Owners: spec.Approvals.CodeOwners, Now: p.Now, Head: p.Head, Found: p.Found, Commit: c.Commit}
	waiting, running := p.numbers()
	request.Busy = waiting + running
	if request.Review, err = r.review(ctx, l, p); err != nil {
		return "", false, err
	}
	var owners [][]string
	wanted := &applying{Commit: p.Head, By: by, At: at, Plans: map[string]string{}, Approvers: request.Review.Approvers}
	for _, s := range p.Stacks {
		if len(c.Stacks) > 0 && !slices.ContainsFunc(c.Stacks, s.is) {
			continue
		}
		one := s.candidate()
		request.Stacks, owners = append(request.Stacks, one), append(owners, s.Owners...)
		if one.Applies() {
			wanted.Stacks = append(wanted.Stacks, s.Name)
			wanted.Plans[s.Name] = s.approvable()
		}
	}
	request.OwnersMissing = decide.MissingOwners(owners, request.Review.Approvers)
	if refusal := decide.Refusal(request); refusal != "" {
		return refusal, false, nil
	}
	if !request.Approved && len(wanted.Approvers) == 0 {
		wanted.Approvers = []forge.User{by}
	}
	if p.Apply != nil { // a request for some stacks does not end one for others
		wanted.add(p.Apply)
	}
	p.Apply = wanted
	return "", true, nil
}

// add adds the stacks of an earlier request that a request does not name.
func (a *applying) add(earlier *applying) {
	for _, name := range earlier.Stacks {
		if !slices.Contains(a.Stacks, name) {
			a.Stacks = append(a.Stacks, name)
			a.Plans[name] = earlier.Plans[name]
		}
	}
}

// asked is the digest of the plan that is to be applied: the one shown, if it is still the one of the request.
func (p *pull) asked(s *stack) string {
	shown := s.approvable()
	if p.Apply != nil && p.Apply.Plans[s.Name] != shown {
		return ""
	}
	return shown
}

func (r *Reconciler) unlock(ctx context.Context, m *memory, p *pull, names []string) (string, bool, error) {
	freed, err := r.free(ctx, m, p, names, false)
	switch {
	case err != nil:
		return "", false, err
	case len(names) == 0:
		p.Apply = nil
	case p.Apply != nil:
		p.Apply.Stacks = slices.DeleteFunc(p.Apply.Stacks, func(name string) bool { return slices.ContainsFunc(names, (&stack{Name: name}).is) })
	}
	if len(freed) == 0 {
		return "This pull request has locked no such stack.", false, nil
	}
	return returning(freed), true, nil
}

// applyBefore locks the stacks of a request, and approves the plans that they then have.
func (r *Reconciler) applyBefore(ctx context.Context, m *memory, l *link, p *pull) error {
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
	if p.Apply != nil && p.Found && p.Head == p.Apply.Commit && waiting+running == 0 {
		if err := r.lockAll(ctx, m, l, p); err != nil {
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
		if err := r.advance(ctx, l, p, s, t, h); err != nil {
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

// lockAll locks the wanted stacks that are not locked yet.
func (r *Reconciler) lockAll(ctx context.Context, m *memory, l *link, p *pull) error {
	var open []*stack
	for _, s := range p.Stacks {
		held := slices.ContainsFunc(m.holds[p.key()], func(t *infrav1.Terraform) bool {
			return t.Namespace+"/"+t.Name == s.Name && t.PullRequestHold().Commit == p.Head
		})
		switch {
		case !slices.Contains(p.Apply.Stacks, s.Name) || held || !s.candidate().Applies():
		case p.asked(s) == "":
			s.progress = &progress{state: comment.Held, reason: "its plan has changed since the apply was asked for: look at it, and repeat the command"}
		default:
			open = append(open, s)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if slices.Contains(l.planner.Spec.Apply.Requirements, yubav1.RequireUndiverged) {
		behind, err := r.diverged(ctx, l, p, open)
		if err != nil {
			return err
		}
		if len(behind) > 0 {
			p.Apply = nil
			return r.answer(ctx, m, l, p, []string{"Not applied: the base has other files of `" + strings.Join(behind, "`, `") + "` than the branch. Merge the base into the branch, look at the new plans, and repeat the command."})
		}
	}
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

// diverged names the stacks whose files are not those that a merge would make of the present base.
func (r *Reconciler) diverged(ctx context.Context, l *link, p *pull, stacks []*stack) (behind []string, err error) {
	base, err := r.Sources.Head(ctx, l.source, forge.PullRequest{Head: forge.End{Branch: p.Now.Base.Branch}})
	if err != nil {
		return nil, fmt.Errorf("fetch the branch %s: %w", p.Now.Base.Branch, err)
	}
	defer base.Close(context.WithoutCancel(ctx))
	if err := r.hold(ctx, l, p); err != nil {
		return nil, err
	}
	defer p.release()
	changes, err := l.forge.ChangedFiles(ctx, p.Now.Number, l.forge.Limits().Files)
	if err != nil {
		return nil, err
	}
	head := p.source.Tree
	var merged discover.Tree
	if changes.Incomplete { // then the base must have nothing that the head does not have
		merged = base.Tree
	} else {
		merged = discover.Merged(base.Tree, head, namesOf(changes.Files))
	}
	for _, s := range stacks {
		t, err := r.live(ctx, s.Name)
		var blocked *blockedError
		if errors.As(err, &blocked) {
			continue // the lock says so
		}
		if err != nil {
			return nil, err
		}
		if reads := readBy(t); discover.Sum(merged, reads) != discover.Sum(head, reads) {
			behind = append(behind, s.Name)
		}
	}
	return behind, nil
}

// advance looks at a stack that runs the head, and approves its plan if it is the shown one.
func (r *Reconciler) advance(ctx context.Context, l *link, p *pull, s *stack, t *infrav1.Terraform, h *infrav1.PullRequestHold) error {
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
	facts := decide.Merged{Allowed: true, Shown: p.asked(s), Commit: h.Commit, Planned: t.Status.LastPlannedRevision, Applied: t.Status.LastAppliedRevision,
		Pending: plan.Pending, Changes: plan.ChangesDigest, Approved: approvedPlan(t), Failed: failedApply(t)}
	if p.Apply != nil {
		facts.Review.Approvers = p.Apply.Approvers
	}
	if facts.Pending != "" && strings.Contains(facts.Planned, h.Commit) && facts.Shown != "" && facts.Changes == facts.Shown {
		base, err := r.Sources.Base(ctx, pin)
		if err != nil {
			return fmt.Errorf("read the commit %s: %w", h.Commit, err)
		}
		facts.Same = s.Files != "" && strings.Contains(base.Revision, h.Commit) && discover.Sum(base.Tree, readBy(t)) == s.Files
		facts.OtherInputs = p.otherInputs(ctx, r, l, s, t)
	}
	fate, why := decide.BeforeMerge(facts)
	if fate == decide.Approve {
		by := accounts(p.Apply.Approvers)
		if p.Of == "" || len(by) == 0 {
			fate, why = decide.Unreviewed, "the plan "+plan.Pending+" waits for an approval: the forge does not identify who approved the pull request"
		} else if err := r.Approve(ctx, Approval{Stack: types.NamespacedName{Namespace: t.Namespace, Name: t.Name}, Plan: plan.Pending, Repository: p.Of, By: by,
			Comment: "pull request " + p.Now.URL + ", applied before its merge by " + text(p.Apply.By.Name, maxTitle)}); err != nil {
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
