// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

const (
	// maxPulls and maxStacks limit the lists in a status: together they have less than 500 kB.
	maxPulls  = 100
	maxStacks = 1000
	// maxTitle and maxReason limit foreign text there, maxMessage a condition's.
	maxTitle   = 120
	maxReason  = 500
	maxMessage = 2000
)

// suspended shows that nothing is planned.
func suspended(o *yubav1.PullRequestPlanner) {
	o.Status.ObservedGeneration = o.Generation
	conditions.Remove(o, meta.StalledCondition, meta.ReconcilingCondition)
}

// settle writes the result of a pass to the status of the object.
func settle(o *yubav1.PullRequestPlanner, m *memory, problem error) {
	s := &o.Status
	s.ObservedGeneration = o.Generation
	s.SetLastHandledReconcileRequest(m.handled)
	s.WebhookPath = m.hookPath
	s.Open, s.Planning, s.PullRequests = 0, 0, nil
	left, behind := maxStacks, maxBehindAll
	for _, p := range m.sorted() {
		if p.Left != "" || p.Now.State == "" || p.watched() && !p.has(comment.Drifted) {
			continue
		}
		one := statusIn(p, &left)
		behindIn(p, &one, &behind)
		one.Environments = environmentsIn(o, p)
		if p.Now.State == forge.Open {
			s.Open++
		}
		if one.State == yubav1.PullRequestPlanning || one.State == yubav1.PullRequestWaiting {
			s.Planning++
		}
		if len(s.PullRequests) < maxPulls {
			s.PullRequests = append(s.PullRequests, one)
		}
	}
	if problem != nil {
		failed(o, problem)
		return
	}
	conditions.Remove(o, meta.StalledCondition, meta.ReconcilingCondition)
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, summary(s))
}

func summary(s *yubav1.PullRequestPlannerStatus) string {
	text := fmt.Sprintf("%d open pull requests", s.Open)
	if s.Open == 1 {
		text = "1 open pull request"
	}
	return text
}

// failed shows why pull requests are not, or not all, planned.
func failed(o *yubav1.PullRequestPlanner, problem error) {
	reason, message := yubav1.ReasonForgeFailed, shorten.Cut(printable(problem.Error()), maxMessage)
	var config *configError
	var token *forge.TokenError
	var scope *forge.ScopeError
	stalled := errors.As(problem, &config) || errors.As(problem, &token) || errors.As(problem, &scope)
	switch {
	case config != nil:
		reason = config.reason
	case stalled:
		reason = yubav1.ReasonCredentials
	}
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	if stalled {
		conditions.Remove(o, meta.ReconcilingCondition)
		conditions.Set(o, meta.StalledCondition, metav1.ConditionTrue, reason, message)
		return
	}
	conditions.Remove(o, meta.StalledCondition)
	conditions.Set(o, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

var states = map[comment.State]yubav1.PullRequestState{comment.Waiting: yubav1.PullRequestWaiting, comment.Running: yubav1.PullRequestPlanning, comment.Planned: yubav1.PullRequestPlanned,
	comment.Failed: yubav1.PullRequestFailed, comment.Held: yubav1.PullRequestHeld, comment.Applied: yubav1.PullRequestApplied, comment.Drifted: yubav1.PullRequestDrifted}

func statusIn(p *pull, left *int) yubav1.PullRequestStatus {
	out := yubav1.PullRequestStatus{Source: p.Source, Number: int32(p.Now.Number), Title: text(p.Now.Title, maxTitle), URL: text(p.Now.URL, maxReason), Author: text(p.Now.Author.Name, maxTitle), //nolint:gosec // numbers of pull requests are small
		Head: p.Now.Head.Commit, State: stateOf(p)}
	switch {
	case p.Held != "":
		out.Message = text(p.Held, maxReason)
	case len(p.Problems) > 0:
		out.Message = text(p.Problems[0].Summary+": "+p.Problems[0].Detail, maxReason)
	}
	for _, s := range p.Stacks {
		c := counts(s.Counts)
		out.Counts.Add, out.Counts.Change, out.Counts.Destroy = out.Counts.Add+c.Add, out.Counts.Change+c.Change, out.Counts.Destroy+c.Destroy
		if *left == 0 || len(out.Stacks) == maxStacks/2 {
			out.MoreStacks++
			continue
		}
		*left--
		one := yubav1.PullRequestStack{Name: s.Name, State: states[s.State], Message: text(s.Reason, maxReason), Counts: c, Changes: s.Digest}
		if s.Reason == "" && len(s.Problems) > 0 {
			one.Message = text(s.Problems[0].Summary, maxReason)
		}
		out.Stacks = append(out.Stacks, one)
	}
	return out
}

func counts(c comment.Counts) yubav1.PullRequestCounts {
	return yubav1.PullRequestCounts{Add: int32(c.Add + c.Replace), Change: int32(c.Change), Destroy: int32(c.Destroy + c.Replace)} //nolint:gosec // tofu does not count so far
}

// stateOf sums the states of the stacks up.
func stateOf(p *pull) yubav1.PullRequestState {
	has := map[comment.State]bool{}
	for _, s := range p.Stacks {
		has[s.State] = true
	}
	switch {
	case has[comment.Drifted]:
		return yubav1.PullRequestDrifted
	case p.Merged != nil && has[comment.Failed]:
		return yubav1.PullRequestFailed
	case p.Merged != nil && len(has) == 1 && has[comment.Applied]:
		return yubav1.PullRequestApplied
	case p.Merged != nil:
		return yubav1.PullRequestMerged
	case p.Held != "":
		return yubav1.PullRequestHeld
	case len(p.Problems) > 0:
		return yubav1.PullRequestFailed
	case has[comment.Running]:
		return yubav1.PullRequestPlanning
	case !p.Found || has[comment.Waiting]:
		return yubav1.PullRequestWaiting
	case has[comment.Failed]:
		return yubav1.PullRequestFailed
	case has[comment.Held]:
		return yubav1.PullRequestHeld
	}
	return yubav1.PullRequestPlanned
}

// text is foreign text in one line that does not control a terminal.
func text(foreign string, most int) string { return shorten.CutBytes(printable(foreign), most) }

func printable(foreign string) string {
	return strings.Join(strings.Fields(strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, strings.ToValidUTF8(foreign, "?"))), " ")
}

// record writes a changed status, and events about changed conditions.
func (r *Reconciler) record(ctx context.Context, o, before *yubav1.PullRequestPlanner) error {
	if equality.Semantic.DeepEqual(o.Status, before.Status) {
		return nil
	}
	patched := o.DeepCopy()
	if err := r.Client.Status().Patch(ctx, patched, reconciling.ChangeOf(before)); err != nil {
		return fmt.Errorf("write the status of PullRequestPlanner %s: %w", client.ObjectKeyFromObject(o), err)
	}
	o.SetResourceVersion(patched.GetResourceVersion())
	r.fresh.Wrote(o)
	was, is := conditions.Of(before, meta.ReadyCondition), conditions.Of(o, meta.ReadyCondition)
	if is.Status == metav1.ConditionFalse && (was.Status != is.Status || was.Message != is.Message) {
		reconciling.Event(r.Events, o, corev1.EventTypeWarning, is.Reason, "Plan", is.Message)
	}
	for _, now := range o.Status.PullRequests {
		if now.State == yubav1.PullRequestPlanned && !hadState(before, now) {
			reconciling.Event(r.Events, o, corev1.EventTypeNormal, yubav1.ReasonPlanned, "Plan", fmt.Sprintf("pull request %d of %s is planned at commit %s: %d stacks, %d to add, %d to change, %d to destroy",
				now.Number, now.Source, now.Head, len(now.Stacks)+int(now.MoreStacks), now.Counts.Add, now.Counts.Change, now.Counts.Destroy))
		}
	}
	return nil
}

func hadState(before *yubav1.PullRequestPlanner, now yubav1.PullRequestStatus) bool {
	for _, was := range before.Status.PullRequests {
		if was.Source == now.Source && was.Number == now.Number {
			return was.Head == now.Head && was.State == now.State
		}
	}
	return false
}
