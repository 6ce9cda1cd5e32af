// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

const (
	// often is the least time between two edits of a comment while plans are at work.
	often = 3 * time.Second
	// atFirst is how long plans may take before a comment says that they are at work. The status says so at once; of quick
	// plans, a comment without them would only keep the forge busy, and delay the one with them.
	atFirst = 2 * time.Second
)

// markerOf identifies the comments of a planner. Two servers with one account have different ones.
func markerOf(m *memory) string { return "yuba:" + m.uid }

// report is what is known of a pull request.
func report(o *yubav1.PullRequestPlanner, m *memory, p *pull) comment.Report {
	out := comment.Report{Marker: markerOf(m), Environment: o.Spec.Feedback.Environment, Commit: p.Now.Head.Commit, Link: linkOf(o, p), Problems: p.Problems}
	for _, s := range p.Stacks {
		out.Stacks = append(out.Stacks, comment.Stack{Name: s.Name, State: s.State, Fate: s.Fate, Reason: s.Reason, Counts: s.Counts, Outputs: s.Outputs,
			Changes: s.Text, Fields: s.Fields, Verdicts: s.Verdicts, Problems: s.Problems})
	}
	p.showBehind(o, &out)
	p.overlay(m, &out)
	waiting, running := p.numbers()
	out.Approve = (o.Spec.Merge.ApproveReviewed || o.Spec.Apply.When == yubav1.ApplyBeforeMerge) && p.Merged == nil && p.Found && p.Head == p.Now.Head.Commit && waiting+running == 0 &&
		slices.ContainsFunc(p.Stacks, func(s *stack) bool { return s.showable() != "" })
	if out.Approve {
		out.Plans = p.offer()
	}
	out.Apply = o.Spec.Apply.When == yubav1.ApplyBeforeMerge && p.Merged == nil && !p.Now.Fork && p.Found && p.Head == p.Now.Head.Commit && waiting+running == 0 && p.Apply == nil &&
		p.tally(m, o).Open > 0
	return out
}

// linkOf is the address of the page about a pull request.
func linkOf(o *yubav1.PullRequestPlanner, p *pull) string {
	if o.Spec.Feedback.PageURL != "" {
		return o.Spec.Feedback.PageURL
	}
	return p.Now.URL
}

// statusName is the name of the commit status of all stacks.
func statusName(o *yubav1.PullRequestPlanner) string { return cmp.Or(o.Spec.Feedback.Status, "yuba") }

// statusOf is the commit status.
func statusOf(o *yubav1.PullRequestPlanner, p *pull, shown comment.Report) forge.Status {
	status := comment.Status(statusName(o), shown)
	switch {
	case p.Held != "":
		status.Result, status.Description = forge.Pending, p.Held
	case !p.Found && len(p.Problems) == 0:
		status.Result, status.Description = forge.Pending, "Finding the stacks that change"
	}
	return status
}

// begun begins to show that a head was seen, before it is fetched. The pass must wait for its end: the next status is for
// the same commit.
func (r *Reconciler) begun(ctx context.Context, o *yubav1.PullRequestPlanner, l *link, p *pull) (wait func() error) {
	commit, s := p.Now.Head.Commit, statusOf(o, p, comment.Report{Link: linkOf(o, p)})
	digest, err := digestOfStatus(s)
	if err != nil || p.StatusOf == commit && p.Status == digest {
		return func() error { return err }
	}
	done := aside(func() (struct{}, error) { return struct{}{}, l.forge.SetStatus(ctx, commit, s) })
	return func() error {
		if _, err := done(); err != nil {
			return err
		}
		p.StatusOf, p.Status = commit, digest
		return nil
	}
}

// show shows what is known, if that has changed.
func (r *Reconciler) show(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull) error {
	shown := report(o, m, p)
	waiting, running := p.numbers()
	busy := waiting+running > 0 && p.Merged == nil && p.retry.Before(r.now())
	if next := p.worthwhile(); busy && r.now().Before(next) {
		m.at(next)
		return nil
	}
	var whole bool
	var at time.Time
	if !o.Spec.Feedback.NoComment && r.worthAComment(p) {
		var err error
		if shown.NoStatus, err = r.withoutStatus(ctx, o, m, l, p, shown); err != nil {
			return err
		}
		if whole, at, err = r.setComment(ctx, m, l, p, shown); err != nil {
			return err
		}
	}
	if p.Merged == nil {
		p.seen(whole, at)
	}
	p.told, p.Shown = r.now(), p.Now.Head.Commit
	commit := p.Now.Head.Commit
	if p.Merged != nil && p.Merged.Commit != "" {
		commit = p.Merged.Commit
	}
	if commit == "" {
		return nil
	}
	if err := r.setApplyStatus(ctx, o, m, l, p); err != nil {
		return err
	}
	if err := r.setStatus(ctx, l, p, commit, statusOf(o, p, shown)); err != nil {
		return err
	}
	return r.showEnvironments(ctx, o, m, l, p, commit, shown)
}

// worthwhile is when to show plans that are at work: not more often than people look.
func (p *pull) worthwhile() time.Time {
	switch {
	case p.Shown != p.Now.Head.Commit:
		return p.found.Add(atFirst)
	case p.Commented == "":
		return time.Time{}
	}
	return p.told.Add(often)
}

// worthAComment reports whether people should be told. A pull request that changes no stack has a status only, unless a comment says
// something else by now.
func (r *Reconciler) worthAComment(p *pull) bool {
	return len(p.Stacks)+len(p.Problems) > 0 || p.Held != "" || p.Commented != ""
}

// setComment writes the comment. It reports whether that leaves nothing out, and since when it says so at the latest.
func (r *Reconciler) setComment(ctx context.Context, m *memory, l *link, p *pull, shown comment.Report) (whole bool, at time.Time, err error) {
	limits := l.forge.Limits()
	if p.Held != "" {
		shown.Problems = append(shown.Problems, comment.Problem{Summary: "Not planned: " + p.Held})
	}
	text, whole := comment.RenderWhole(shown, comment.Style{Limit: limits.Comment, Details: limits.Details, Hidden: limits.Hidden})
	digest := digestOf(text)
	if digest == p.Commented {
		return whole, r.now(), nil
	}
	written, err := l.forge.SetComment(ctx, p.Now.Number, comment.Mark(shown.Marker), text)
	if err != nil {
		return false, at, err
	}
	p.Commented = digest
	// The times of reviews are the forge's.
	if at = r.now(); written.Updated.After(at) {
		at = written.Updated
	}
	return whole, at, nil
}

func (r *Reconciler) setStatus(ctx context.Context, l *link, p *pull, commit string, s forge.Status) error {
	digest, err := digestOfStatus(s)
	if err != nil {
		return err
	}
	if p.StatusOf == commit && p.Status == digest {
		return nil
	}
	if err := l.forge.SetStatus(ctx, commit, s); err != nil {
		return err
	}
	p.StatusOf, p.Status = commit, digest
	return nil
}

func digestOfStatus(s forge.Status) (string, error) {
	data, err := json.Marshal(s)
	return digestOf(string(data)), err
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
