// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

const (
	// watchPatience is how long drift of a merged pull request's stacks is posted to its merge commit, and maxWatched
	// how many merged pull requests of a planner are watched.
	watchPatience = 30 * 24 * time.Hour
	maxWatched    = 50
	// maxKeptText limits the plans that are kept of a watched pull request, for its comment.
	maxKeptText = 32 << 10
	// maxStackStatuses limits the statuses of stacks beside a merge commit: each is a request to the forge.
	maxStackStatuses = 20
)

// mishaps are the reasons of stacks whose last attempt failed, or may not go on.
var mishaps = []string{infrav1.ReasonPlanFailed, infrav1.ReasonApplyFailed, infrav1.ReasonInitFailed, infrav1.ReasonDestroyFailed, infrav1.ReasonVarsGenerationFailed,
	infrav1.ReasonTemplateGenerationFailed, infrav1.ReasonSelectWorkspaceFailed, infrav1.ReasonNewFailed, infrav1.ReasonHealthChecksFailed, infrav1.ReasonOutputsWritingFailed,
	infrav1.ReasonPolicyRefused, infrav1.ReasonPlanRejected, infrav1.ReasonContractMisfit, infrav1.ReasonRetryLimitReached, infrav1.ReasonStateMissing, infrav1.ReasonStateUnreadable}

// failedAt says why a stack has failed at a commit; empty if it has not.
func failedAt(t *infrav1.Terraform, commit string) string {
	ready := conditions.Of(t, infrav1.ConditionReady)
	if commit == "" || ready.Status != metav1.ConditionFalse || !slices.Contains(mishaps, ready.Reason) ||
		!strings.Contains(cmp.Or(t.Status.LastAttemptedRevision, t.Status.LastPlannedRevision), commit) {
		return ""
	}
	return text(ready.Reason+": "+ready.Message, maxReason)
}

// drifted reports whether a stack has drifted; known is false while a run decides it.
func drifted(t *infrav1.Terraform) (is, known bool) {
	ready := conditions.Of(t, infrav1.ConditionReady)
	return ready.Reason == infrav1.ReasonDriftDetected, ready.Reason == infrav1.ReasonDriftDetected || ready.Status == metav1.ConditionTrue
}

// watch begins to watch the stacks of a merged pull request for drift.
func (p *pull) watch() {
	p.stop()
	p.Merged.Watched = true
	p.Approvals, p.Done, p.Behind = nil, nil, nil
	size := 0
	for _, s := range p.Stacks {
		size += len(s.Text)
	}
	for _, s := range p.Stacks {
		s.Manifest, s.Reads, s.Files = nil, Outputs{}, ""
		if size > maxKeptText {
			s.Text = ""
		}
	}
}

// watched reports whether all is over with a pull request but drift.
func (p *pull) watched() bool { return p.Merged != nil && p.Merged.Watched }

// look compares the stacks of a watched pull request with what was said about them.
func (r *Reconciler) look(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull) error {
	if r.now().After(p.Merged.At.Add(watchPatience)) || !m.concerns(p) {
		return r.erase(ctx, m, p)
	}
	changed := false
	for _, s := range p.Stacks {
		if s.State != comment.Applied && s.State != comment.Drifted || m.superseded(p, s) {
			continue
		}
		var t infrav1.Terraform
		if err := r.Client.Get(ctx, stackKey(s.Name), &t); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read the stack %s: %w", s.Name, err)
		} else if err != nil {
			continue // it is gone
		}
		is, known := drifted(&t)
		switch {
		case !known || is == (s.State == comment.Drifted):
			continue
		case is:
			s.State, s.Reason = comment.Drifted, "the infrastructure differs from what was applied"+inBrackets(t.Status.Plan.Summary)
		default:
			s.State, s.Reason = comment.Applied, ""
		}
		changed = true
	}
	if !changed {
		return nil
	}
	return r.results(ctx, o, m, l, p)
}

func inBrackets(summary string) string {
	if summary == "" {
		return ""
	}
	return " (" + summary + ")"
}

// results shows what became of a merged pull request: in its comment, and beside the merge commit.
func (r *Reconciler) results(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull) error {
	if err := r.show(ctx, o, m, l, p); err != nil {
		return err
	}
	if p.Merged.Commit == "" {
		return nil
	}
	for _, s := range firstResults(p.Stacks) {
		status := resultOf(o, p, s)
		said := digestOf(fmt.Sprint(status))
		if p.Merged.Said[s.Name] == said {
			continue
		}
		if err := l.forge.SetStatus(ctx, p.Merged.Commit, status); err != nil {
			return err
		}
		if p.Merged.Said == nil {
			p.Merged.Said = map[string]string{}
		}
		p.Merged.Said[s.Name] = said
	}
	return nil
}

// firstResults are the stacks that have a result, those that need somebody first. A pull request of many stacks has a
// status for some of them only; the others are in the one for all of them.
func firstResults(stacks []*stack) (out []*stack) {
	rank := map[comment.State]int{comment.Failed: 1, comment.Drifted: 2, comment.Held: 3, comment.Applied: 4}
	for _, s := range stacks {
		if rank[s.State] > 0 {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *stack) int {
		return cmp.Or(rank[a.State]-rank[b.State], strings.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), maxStackStatuses)]
}

// resultOf is the status of one stack.
func resultOf(o *yubav1.PullRequestPlanner, p *pull, s *stack) forge.Status {
	status := forge.Status{Name: statusName(o) + "/" + s.Name, URL: linkOf(o, p)}
	switch s.State {
	case comment.Applied:
		status.Result, status.Description = forge.Success, "applied: "+s.Counts.String()
		if s.Reason != "" {
			status.Description = s.Reason
		}
	case comment.Drifted:
		status.Result, status.Description = forge.Failure, "drifted: "+s.Reason
	case comment.Failed:
		status.Result, status.Description = forge.Failure, "failed: "+s.Reason
	default:
		status.Result, status.Description = forge.Pending, "held: "+s.Reason
	}
	return status
}

// superseded reports whether a later pull request has changed a stack, too: its drift is about that one.
func (m *memory) superseded(p *pull, s *stack) bool {
	for _, other := range m.pulls {
		if other != p && other.Merged != nil && other.Source == p.Source && other.Merged.At.After(p.Merged.At) &&
			slices.ContainsFunc(other.Stacks, func(o *stack) bool { return o.Name == s.Name }) {
			return true
		}
	}
	return false
}

// concerns reports whether there is something left to watch, within the limit.
func (m *memory) concerns(p *pull) bool {
	later := 0
	for _, other := range m.pulls {
		if other != p && other.watched() && other.Merged.At.After(p.Merged.At) {
			later++
		}
	}
	return later < maxWatched && slices.ContainsFunc(p.Stacks, func(s *stack) bool { return !m.superseded(p, s) })
}

// watchedStacks are the stacks whose drift is watched, and whether it was posted.
func (m *memory) watchedStacks() map[string]bool {
	out := map[string]bool{}
	for _, p := range m.pulls {
		if !p.watched() {
			continue
		}
		for _, s := range p.Stacks {
			if s.State == comment.Applied || s.State == comment.Drifted {
				out[s.Name] = s.State == comment.Drifted
			}
		}
	}
	return out
}

// has reports whether one of the stacks is in a state.
func (p *pull) has(state comment.State) bool {
	return slices.ContainsFunc(p.Stacks, func(s *stack) bool { return s.State == state })
}
