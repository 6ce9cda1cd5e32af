// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// digest identifies the plans that can be approved; empty if there are none.
func (p *pull) digest() string { return p.digestOf((*stack).approvable) }

// offer is the digest of the plans that a comment shows, once it is there.
func (p *pull) offer() string { return p.digestOf((*stack).showable) }

// digestOf identifies plans. The values of inputs are not in it: short ones could be guessed.
func (p *pull) digestOf(plan func(*stack) string) string {
	sum, any := sha256.New(), false
	for _, s := range p.Stacks {
		if d := plan(s); d != "" {
			any = true
			fmt.Fprintf(sum, "%q %q %q\n", s.Name, d, s.Files)
		}
	}
	if !any {
		return ""
	}
	fmt.Fprintf(sum, "%q\n", p.Head)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// overlay shows how far applies before the merge are, and what nobody sees otherwise: stacks that an earlier commit of
// the pull request changed, and the present one does not.
func (p *pull) overlay(m *memory, shown *comment.Report) {
	for i := range shown.Stacks {
		s := p.find(shown.Stacks[i].Name)
		if s == nil {
			continue
		}
		shown.Stacks[i].Owners = s.Owners
		if s.progress != nil {
			shown.Stacks[i].State, shown.Stacks[i].Reason = s.progress.state, s.progress.reason
		}
	}
	for _, t := range p.left(m) {
		shown.Stacks = append(shown.Stacks, comment.Stack{Name: t.Namespace + "/" + t.Name, State: comment.Held,
			Reason: fmt.Sprintf("it runs commit %.12s of this pull request, which does not change it any more: /yuba unlock %s/%s", t.PullRequestHold().Commit, t.Namespace, t.Name)})
	}
}

// left are the stacks that an earlier commit of the pull request holds, and the present one does not change.
func (p *pull) left(m *memory) (out []*infrav1.Terraform) {
	if !p.Found || p.Head != p.Now.Head.Commit || p.Merged != nil {
		return nil
	}
	for _, t := range m.holds[p.key()] {
		if h := t.PullRequestHold(); h != nil && p.find(t.Namespace+"/"+t.Name) == nil {
			out = append(out, t)
		}
	}
	return out
}

// tally counts what is applied before the merge, and what is not.
func (p *pull) tally(m *memory, o *yubav1.PullRequestPlanner) (t decide.Tally) {
	waiting, running := p.numbers()
	t.Found, t.Problem = p.Found && p.Head == p.Now.Head.Commit && waiting+running == 0, p.Held
	if t.Problem == "" && len(p.Problems) > 0 {
		t.Problem = p.Problems[0].Summary
	}
	t.Left, t.Ignored = len(p.left(m)), p.Left
	for _, s := range p.Stacks {
		c := s.candidate()
		switch {
		case s.progress != nil && s.progress.commit == p.Head && s.progress.state == comment.Applied:
			t.Applied++
		case c.Manifest, p.Now.Fork, s.Never:
			t.Later++
		case s.Barred:
			t.Barred++
		case c.Applies(), s.progress != nil && s.progress.commit == p.Head:
			t.Open++
		}
	}
	return t
}

// setApplyStatus sets the status that branch protection can require.
func (r *Reconciler) setApplyStatus(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull) error {
	if o.Spec.Apply.When != yubav1.ApplyBeforeMerge || p.Merged != nil || p.Now.Head.Commit == "" {
		return nil
	}
	status := forge.Status{Name: applyStatus(o), URL: linkOf(o, p)}
	status.Result, status.Description = decide.Check(p.tally(m, o))
	data, err := json.Marshal(status)
	if err != nil {
		return err
	}
	digest, commit := digestOf(string(data)), p.Now.Head.Commit
	if p.AppliedOf == commit && p.Applied == digest {
		return nil
	}
	if err := l.forge.SetStatus(ctx, commit, status); err != nil {
		return err
	}
	p.AppliedOf, p.Applied = commit, digest
	return nil
}

const (
	// overPause is how soon the branch is looked at again after a merge, overPatience how long its commit is awaited.
	overPause    = 2 * time.Second
	overPatience = time.Hour
)

// handOver returns the stacks of a merged pull request to their branch, once that has what they run: neither a poll that
// is late nor a queue of merges may revert them. It reports whether some wait.
func (r *Reconciler) handOver(ctx context.Context, m *memory, l *link, p *pull) (waits bool, err error) {
	held := m.holds[p.key()]
	if len(held) == 0 {
		return false, nil
	}
	base, err := r.Sources.Base(ctx, l.source)
	if err != nil {
		return true, fmt.Errorf("read the branch after the merge: %w", err)
	}
	if p.Merged == nil { // from now on it is not the open one
		p.stop()
		made, err := r.reviewMerged(ctx, l, p)
		if err != nil {
			return true, err
		}
		made.Base = base.Revision
		p.Merged = made
	}
	for _, t := range slices.Clone(held) {
		name := t.Namespace + "/" + t.Name
		same, err := r.arrived(ctx, l, t, base)
		if err != nil {
			return true, err
		}
		// Only these prove that the branch has what the stack runs. After other commits, or a long time, it returns by a
		// plan that waits for approval: an automatic one could revert what was applied.
		proven := same || p.Merged.Commit != "" && strings.Contains(base.Revision, p.Merged.Commit)
		later := base.Revision != p.Merged.Base && r.now().After(p.Merged.At.Add(overPause)) || r.now().After(p.Merged.At.Add(overPatience))
		s := p.find(name)
		if !proven && !later {
			waits = true
			if s != nil {
				s.progress = &progress{state: comment.Applied, commit: t.PullRequestHold().Commit, reason: "waits until the merge commit is fetched"}
			}
			continue
		}
		// Equal files are not planned again, so that no revision would say it.
		if same && s != nil && t.Status.Plan.Pending == "" && failedApply(t) == "" && strings.Contains(t.Status.LastAppliedRevision, t.PullRequestHold().Commit) {
			s.State, s.Reason, s.progress = comment.Applied, "", nil
		}
		if _, err := r.free(ctx, m, p, []string{name}, proven); err != nil {
			return true, err
		}
	}
	if waits {
		m.at(r.now().Add(overPause))
	}
	return waits, nil
}

// arrived reports whether the branch has the very files that a stack runs.
func (r *Reconciler) arrived(ctx context.Context, l *link, t *infrav1.Terraform, base *Source) (bool, error) {
	pin, err := r.pinned(ctx, l, t, t.PullRequestHold())
	if pin == nil || err != nil {
		return false, err
	}
	runs, err := r.Sources.Base(ctx, pin)
	if err != nil {
		return false, fmt.Errorf("read the commit that the stack %s/%s runs: %w", t.Namespace, t.Name, err)
	}
	reads := readBy(t)
	return discover.Sum(runs.Tree, reads) == discover.Sum(base.Tree, reads), nil
}
