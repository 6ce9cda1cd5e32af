// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Impact finds out what follows in the stacks behind those that a pull request changes.
type Impact interface {
	// Foresee compares what stacks read with planned outputs. It plans nothing, and uses no credentials.
	Foresee(ctx context.Context, q Question) (Consequences, error)
	// PlanBehind plans them, level by level, with planned values in place of the published ones. The end of the
	// context cancels the plans.
	PlanBehind(ctx context.Context, q Question, s *Source, trigger string) (Consequences, error)
}

// Question is what a pull request changes.
type Question struct {
	// Namespace is that of the planner. Levels is how far to look.
	Namespace string
	Levels    int
	Stacks    []Origin
	// As is the identity of the plans; nil for those of the stacks.
	As *Identity
}

// Origin is a planned stack of a pull request.
type Origin struct {
	Name string
	// Manifest is the stack as it would be; empty if it stays. Elsewhere says that its program is not in the repository.
	Manifest  []byte
	Elsewhere bool
	// Source is what it is planned with, if that is not the head itself.
	Source *Source `json:"-"`
	// Digest identifies the changes of its plan.
	Digest string
	Outputs
}

// Outputs are what a plan does to the outputs of its stack.
type Outputs struct {
	// Changed are those that it changes, without sensitive values.
	Changed []plan.OutputValueChange `json:",omitempty"`
	// TooLarge says that they are not kept: any output may change.
	TooLarge bool `json:",omitempty"`
	// Broken are the consumers whose contract the plan breaks.
	Broken []Broken `json:",omitempty"`
}

// Broken is a consumer of a contract that a plan breaks.
type Broken struct{ Stack, Says string }

// Consequences are the stacks behind.
type Consequences struct {
	List []comment.Consequence
	// More counts those that are not in the list, Note says what is not known.
	More int    `json:",omitempty"`
	Note string `json:",omitempty"`
}

const (
	// defaultLevels is that of spec.impact.levels, which the API sets only if there is a spec.impact.
	defaultLevels = 3
	// maxOutputs limits the kept outputs of a plan, in JSON.
	maxOutputs = 64 << 10
	// maxBehindText limits the plan of a stack behind: nobody approves it.
	maxBehindText = 8 << 10
	// maxBehind limits the stacks behind that are kept.
	maxBehind = 200
)

// bounded are the outputs within the limit.
func (o Outputs) bounded() Outputs {
	if data, err := json.Marshal(o.Changed); err != nil || len(data) > maxOutputs {
		o.Changed, o.TooLarge = nil, true
	}
	o.Broken = o.Broken[:min(len(o.Broken), maxBehind)]
	return o
}

// behind is what is known of the stacks behind those of a pull request.
type behind struct {
	// Of identifies the plans and the question that it is about.
	Of string
	Consequences
	// Busy says that they are being planned.
	Busy bool `json:",omitempty"`

	cancel func()
}

// foretold is the end of the plans of the stacks behind.
type foretold struct {
	of    string
	found Consequences
	err   error
}

// when says which stacks behind to show, and whether to plan them.
func (p *pull) when(o *yubav1.PullRequestPlanner) (show, planned bool) {
	when := o.Spec.Impact.When
	planned = p.Asked || when == yubav1.ImpactAlways
	return planned || when != yubav1.ImpactNever, planned
}

// question is what the plans of a pull request change; ok is false if they change no output.
func (p *pull) question(o *yubav1.PullRequestPlanner) (q Question, ok bool) {
	q = Question{Namespace: o.Namespace, Levels: cmp.Or(int(o.Spec.Impact.Levels), defaultLevels), As: identityOf(o)}
	for _, s := range p.Stacks {
		if s.State != comment.Planned || s.Digest == "" {
			continue
		}
		q.Stacks = append(q.Stacks, Origin{Name: s.Name, Manifest: s.Manifest, Elsewhere: s.Elsewhere, Digest: s.Digest, Outputs: s.Reads})
		ok = ok || len(s.Reads.Changed)+len(s.Reads.Broken) > 0 || s.Reads.TooLarge
	}
	return q, ok
}

// lookBehind finds out what follows, once all plans have ended.
func (r *Reconciler) lookBehind(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull) error {
	show, planned := p.when(o)
	q, follows := p.question(o)
	if r.Impact == nil || !show || !follows {
		p.forgetBehind()
		return nil
	}
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	of := digestOf(fmt.Sprint(planned, string(data)))
	if b := p.Behind; b != nil && b.Of == of && (!b.Busy || b.cancel != nil) {
		return nil
	}
	p.forgetBehind()
	found, err := r.Impact.Foresee(ctx, q)
	if err != nil {
		return fmt.Errorf("find the stacks behind: %w", err)
	}
	p.Behind = &behind{Of: of, Consequences: found.bounded()}
	if !planned || len(found.List) == 0 {
		return nil
	}
	return r.planBehind(ctx, m, l, p, q)
}

// planBehind begins the plans of the stacks behind.
func (r *Reconciler) planBehind(ctx context.Context, m *memory, l *link, p *pull, q Question) error {
	if err := r.hold(ctx, l, p); err != nil {
		p.Behind = nil
		return err
	}
	for i, o := range q.Stacks {
		s := p.find(o.Name)
		if s == nil || s.Via == "" || s.Elsewhere {
			continue
		}
		if err := r.ready(ctx, m, l, p, s); err != nil {
			p.Behind = nil
			return err
		}
		q.Stacks[i].Source = p.source.composed[s.Via]
	}
	work, cancel := context.WithCancel(r.ctx)
	b, held, key, trigger := p.Behind, p.source, p.key(), fmt.Sprintf("behind pull request %d", p.Now.Number)
	b.Busy, b.cancel = true, cancel
	held.uses.Add(1)
	go func() {
		defer held.uses.Done()
		found, err := r.Impact.PlanBehind(work, q, held.Source, trigger)
		if work.Err() != nil {
			return // nobody waits for it any more
		}
		m.end(ended{key: key, foretold: &foretold{b.Of, found, err}})
		r.wake(m.name)
	}()
	p.release()
	return nil
}

// took takes the plans of the stacks behind.
func (p *pull) took(f *foretold) {
	b := p.Behind
	if b == nil || b.Of != f.of || b.cancel == nil {
		return
	}
	b.cancel()
	b.Busy, b.cancel = false, nil
	if f.err != nil {
		b.Note = cut("the stacks behind could not be planned: "+f.err.Error(), maxError)
		return
	}
	b.Consequences = f.found.bounded()
}

// bounded are the consequences within the limits.
func (c Consequences) bounded() Consequences {
	if more := len(c.List) - maxBehind; more > 0 {
		c.List, c.More = c.List[:maxBehind], c.More+more
	}
	for i := range c.List {
		c.List[i].Changes = cut(c.List[i].Changes, maxBehindText)
	}
	return c
}

// forgetBehind ends the plans of the stacks behind.
func (p *pull) forgetBehind() {
	if p.Behind != nil && p.Behind.cancel != nil {
		p.Behind.cancel()
	}
	p.Behind = nil
}

// showBehind adds the stacks behind to a report.
func (p *pull) showBehind(o *yubav1.PullRequestPlanner, out *comment.Report) {
	b := p.Behind
	waiting, running := p.numbers()
	if p.Asked && p.Found && waiting+running == 0 && (b == nil || len(b.List)+b.More == 0) {
		out.BehindNote = "No other stack reads what these plans change."
	}
	if b == nil || p.Merged != nil {
		return
	}
	_, planned := p.when(o)
	out.Consequences, out.MoreBehind, out.BehindNote, out.BehindBusy = b.List, b.More, cmp.Or(b.Note, out.BehindNote), b.Busy
	out.OnlyBreaking = !planned || b.Busy
}

// askForImpact asks for the plans of the stacks behind.
func (p *pull) askForImpact() (answer string, ok bool) {
	if p.Now.Fork && p.Allowed != p.Now.Head.Commit {
		return "The commit of this fork is not planned. Look at it, and comment `/yuba plan --commit COMMIT` first, with all digits.", false
	}
	p.Asked = true
	p.forgetBehind()
	return "", true
}

const (
	// maxBehindAll limits the stacks behind in a status, maxBehindOne those of one pull request.
	maxBehindAll = 300
	maxBehindOne = 50
)

// behindIn adds the stacks behind to the status of a pull request.
func behindIn(p *pull, out *yubav1.PullRequestStatus, left *int) {
	if p.Behind == nil || p.Merged != nil {
		return
	}
	list := comment.ByRisk(p.Behind.List)
	shown := min(len(list), *left, maxBehindOne)
	*left -= shown
	out.MoreBehind = int32(p.Behind.More + len(list) - shown) //nolint:gosec // a number of stacks
	for i := range list[:shown] {
		c := &list[i]
		out.Behind = append(out.Behind, yubav1.PullRequestBehind{Name: c.Name, Level: int32(c.Level), Effect: yubav1.PullRequestEffect(c.Effect), //nolint:gosec // levels are few
			Message: text(c.Why(), maxReason), Counts: counts(c.Counts)})
	}
}
