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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// The lock of a stack is an annotation of the stack itself: it is written with the version that was read, so that two pull
// requests never have it, and it is there after records or servers were lost.

// findHolds finds the stacks that are held for pull requests of a planner. The forge is asked about a pull request that is
// not known any more. On an error, what was known counts.
func (r *Reconciler) findHolds(ctx context.Context, m *memory) error {
	found := map[pullKey][]*infrav1.Terraform{}
	err := r.eachHeld(ctx, r.Client, func(t *infrav1.Terraform, h *infrav1.PullRequestHold) error {
		switch {
		case h.Planner != m.uid || h.Released:
		case m.left(h):
			_, err := r.release(ctx, t.Namespace+"/"+t.Name, m.left, false)
			return err
		default:
			key := pullKey{h.Repository, h.Number}
			found[key] = append(found[key], t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.holds = found
	for key := range m.holds {
		if l := m.links[key.source]; l != nil && m.pulls[key] == nil {
			m.pulls[key] = &pull{Source: key.source, Of: l.identity, Now: forge.PullRequest{Number: key.number}, stale: true}
		}
	}
	return nil
}

// left reports whether a hold is of a repository that the planner does not follow any more: another one may have the name
// of its source now, and its pull request of that number is another one. Nobody else would release the stack.
func (m *memory) left(h *infrav1.PullRequestHold) bool {
	if h.Planner != m.uid || m.unsure {
		return false
	}
	if l := m.links[h.Repository]; l != nil {
		return h.Identity != "" && h.Identity != l.identity
	}
	return !slices.Contains(m.followed, h.Repository)
}

// eachHeld calls do with each stack that is held for a pull request.
func (r *Reconciler) eachHeld(ctx context.Context, from client.Reader, do func(*infrav1.Terraform, *infrav1.PullRequestHold) error) error {
	var list infrav1.TerraformList
	if err := from.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the stacks that are held for pull requests: %w", err)
	}
	var problems []error
	for i := range list.Items {
		if h := list.Items[i].PullRequestHold(); h != nil {
			problems = append(problems, do(list.Items[i].DeepCopy(), h))
		}
	}
	return errors.Join(problems...)
}

// blockedError is why a stack cannot be held, for people.
type blockedError struct {
	why string
	// by is the pull request of the same planner that has the stack; its number is 0 for none.
	by pullKey
}

func (e *blockedError) Error() string { return e.why }

// lock holds a stack for a pull request, unless another one has it.
func (r *Reconciler) lock(ctx context.Context, m *memory, l *link, p *pull, name string, at time.Time) (*infrav1.Terraform, error) {
	t, err := r.live(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := m.obstacle(l, p, t); err != nil {
		return nil, err
	}
	source := pinName(l, p.Head)
	if h := t.PullRequestHold(); h != nil && !h.Released && h.Commit == p.Head && h.Source == source {
		return t, nil
	}
	hold := infrav1.PullRequestHold{Planner: m.uid, Of: fmt.Sprintf("%s#%d", p.Source, p.Now.Number), Repository: p.Source, Number: p.Now.Number, URL: p.Now.URL,
		Identity: l.identity, Source: source, Commit: p.Head, Since: at.UTC().Truncate(time.Second)}
	if err := r.annotate(ctx, t, &hold); err != nil {
		return nil, err
	}
	reconciling.Event(r.Events, t, corev1.EventTypeNormal, yubav1.ReasonPullRequestLocked, "Lock", fmt.Sprintf("the stack runs commit %.12s of pull request %s until its merge, or /yuba unlock: %s", hold.Commit, hold.Of, hold.URL))
	return t, nil
}

// obstacle is why a stack cannot be locked for a pull request: a [blockedError], or nil.
func (m *memory) obstacle(l *link, p *pull, t *infrav1.Terraform) error {
	h := t.PullRequestHold()
	switch {
	case h != nil && !h.Released && (h.Planner != m.uid || h.Repository != p.Source || h.Number != p.Now.Number):
		blocked := &blockedError{why: fmt.Sprintf("pull request %s has locked the stack since %s: it waits until that one is merged, closed or unlocked (%s)", h.Of, h.Since.UTC().Format("2006-01-02 15:04 MST"), h.URL)}
		if h.Planner == m.uid {
			blocked.by = pullKey{h.Repository, h.Number}
		}
		return blocked
	case t.Spec.PlanOnly || t.DriftOnly():
		return &blockedError{why: "the stack never applies (spec.planOnly, or spec.approvePlan: disable)"}
	case t.Spec.Suspend:
		return &blockedError{why: "the stack is suspended"}
	case !follows(t, l.source):
		return &blockedError{why: "the stack does not follow the GitRepository any more"}
	}
	return nil
}

// live reads a stack past the cache.
func (r *Reconciler) live(ctx context.Context, name string) (*infrav1.Terraform, error) {
	namespace, base, _ := strings.Cut(name, "/")
	t := &infrav1.Terraform{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: base}, t)
	if apierrors.IsNotFound(err) {
		return nil, &blockedError{why: "the stack does not exist (any more)"}
	}
	if err != nil {
		return nil, fmt.Errorf("read the stack %s: %w", name, err)
	}
	return t, nil
}

// annotate writes the hold of a stack; nil removes it. Somebody else's change since it was read is an error. A hold that is
// released is written without the approval that the pending plan has.
func (r *Reconciler) annotate(ctx context.Context, t *infrav1.Terraform, h *infrav1.PullRequestHold) error {
	before := t.DeepCopy()
	if h != nil && h.Released {
		void(t)
	}
	delete(t.Annotations, infrav1.AnnotationPullRequest)
	if h != nil {
		text, err := h.Annotation()
		if err != nil {
			return err
		}
		if t.Annotations == nil {
			t.Annotations = map[string]string{}
		}
		t.Annotations[infrav1.AnnotationPullRequest] = text
	}
	if err := r.Client.Patch(ctx, t, reconciling.ChangeOf(before)); err != nil {
		return fmt.Errorf("write the lock of the stack %s/%s for a pull request: %w", t.Namespace, t.Name, err)
	}
	return nil
}

// release returns a stack to its source: by a plan that somebody must approve, or, after a merge, as its own mode says. It
// reports whether the stack was held.
func (r *Reconciler) release(ctx context.Context, name string, mine func(*infrav1.PullRequestHold) bool, merged bool) (bool, error) {
	t, err := r.live(ctx, name)
	var gone *blockedError
	if errors.As(err, &gone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h := t.PullRequestHold()
	if h == nil || h.Released || !mine(h) {
		return false, nil
	}
	says := "the stack returns to its source, by a plan that waits for approval, after pull request " + h.Of
	h.Released = true
	if merged {
		h, says = nil, "the stack follows its source again, after the merge of pull request "+h.Of
	}
	if err := r.annotate(ctx, t, h); err != nil {
		return false, err
	}
	reconciling.Event(r.Events, t, corev1.EventTypeNormal, yubav1.ReasonPullRequestUnlocked, "Unlock", says)
	return true, nil
}

// void takes back the approval of the pending plan, which is of the commit of a pull request: the way back needs one of its
// own, even if it changes the same.
func void(t *infrav1.Terraform) {
	delete(t.Annotations, infrav1.AnnotationApproved)
	if t.Status.Plan.Pending != "" && t.Spec.ApprovePlan == t.Status.Plan.Pending {
		t.Spec.ApprovePlan = ""
	}
}

// of says which holds are those of a pull request.
func (m *memory) of(p *pull) func(*infrav1.PullRequestHold) bool {
	return func(h *infrav1.PullRequestHold) bool {
		return h.Planner == m.uid && h.Repository == p.Source && h.Number == p.Now.Number
	}
}

// free releases stacks of a pull request, all of them without names. It returns those that it released.
func (r *Reconciler) free(ctx context.Context, m *memory, p *pull, names []string, merged bool) (freed []string, err error) {
	key := p.key()
	var kept []*infrav1.Terraform
	for _, t := range m.holds[key] {
		name := t.Namespace + "/" + t.Name
		if len(names) > 0 && !slices.ContainsFunc(names, (&stack{Name: name}).is) {
			kept = append(kept, t)
			continue
		}
		was, err := r.release(ctx, name, m.of(p), merged)
		if err != nil {
			return freed, err
		}
		if was {
			freed = append(freed, name)
		}
	}
	if m.holds[key] = kept; len(kept) == 0 {
		delete(m.holds, key)
	}
	return freed, nil
}

// abandon releases the stacks of a pull request that ends without a merge, and says so there.
func (r *Reconciler) abandon(ctx context.Context, m *memory, l *link, p *pull) error {
	freed, err := r.free(ctx, m, p, nil, false)
	if err != nil || len(freed) == 0 {
		return err
	}
	if err := r.answer(ctx, m, l, p, []string{returning(freed)}); err != nil {
		// The forge may not have the pull request any more, and the stacks are released.
		r.Log.Warn("cannot say in a pull request that its stacks are released", "source", p.Source, "pullRequest", p.Now.Number, "error", err)
	}
	return nil
}

// returning says what becomes of released stacks.
func returning(names []string) string {
	return "Unlocked: `" + strings.Join(names, "`, `") + "`. Each returns to its branch by a plan that waits for approval on the server."
}

// releaseAll releases stacks whoever the pull request is.
func (r *Reconciler) releaseAll(ctx context.Context, which func(*infrav1.PullRequestHold) bool) error {
	return r.eachHeld(ctx, r.Reader, func(t *infrav1.Terraform, h *infrav1.PullRequestHold) error {
		if h.Released || !which(h) {
			return nil
		}
		_, err := r.release(ctx, t.Namespace+"/"+t.Name, which, false)
		return err
	})
}

// releaseOrphans releases the stacks of planners that were deleted while no server ran.
func (r *Reconciler) releaseOrphans(ctx context.Context) error {
	var orphans []string
	if err := r.eachHeld(ctx, r.Reader, func(_ *infrav1.Terraform, h *infrav1.PullRequestHold) error {
		if !h.Released {
			orphans = append(orphans, h.Planner)
		}
		return nil
	}); err != nil || len(orphans) == 0 {
		return err
	}
	// The planners after the holds: one that holds a stack is in the later list, unless it is gone.
	var list yubav1.PullRequestPlannerList
	if err := r.Reader.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		orphans = slices.DeleteFunc(orphans, func(uid string) bool { return uid == string(list.Items[i].UID) })
	}
	return r.releaseAll(ctx, func(h *infrav1.PullRequestHold) bool { return slices.Contains(orphans, h.Planner) })
}
