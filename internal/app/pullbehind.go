// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	pullrequests "github.com/yuba-dev/yuba/internal/pullrequests/controller"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// readsOf are the outputs that a plan changes, and whom that breaks.
func readsOf(a *speculative.Answer) pullrequests.Outputs {
	out := pullrequests.Outputs{Changed: a.Outputs}
	for _, c := range a.Contracts {
		for _, h := range c.Broken {
			out.Broken = append(out.Broken, pullrequests.Broken{Stack: h.Consumer, Says: h.String()})
		}
	}
	return out
}

// brokenContracts warns of contracts that a plan breaks, or that could not be checked.
func brokenContracts(a *speculative.Answer) (list []comment.Verdict) {
	for _, c := range a.Contracts {
		if c.Outcome == speculative.ContractBreaks || c.Name == "" {
			list = append(list, comment.Verdict{Policy: strings.TrimSpace("contract " + c.Name), Message: strings.Join(strings.Fields(c.Message), " ")})
		}
	}
	return list
}

// following is what a pull request changes among all stacks.
type following struct {
	q     pullrequests.Question
	edges *impact.Map
	plans impact.Plans
	names []string
	// broken are the consumers whose contract breaks, and how.
	broken map[string][]string
	failed map[string]bool
	cross  bool
}

// follow finds the edges between stacks as they would be.
func (p *pullPlans) follow(ctx context.Context, q pullrequests.Question) (*following, error) {
	var list infrav1.TerraformList
	if err := p.engine.manager.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the stacks: %w", err)
	}
	f := &following{q: q, plans: impact.Plans{}, broken: map[string][]string{}, failed: map[string]bool{}, cross: p.engine.opts.AllowCrossNamespace}
	stacks := slices.Clone(list.Items)
	for _, o := range q.Stacks {
		f.add(o)
		if o.Manifest == nil {
			continue
		}
		var given infrav1.Terraform
		if err := json.Unmarshal(o.Manifest, &given); err != nil {
			return nil, fmt.Errorf("read the manifest of %s: %w", o.Name, err)
		}
		i := slices.IndexFunc(stacks, func(t infrav1.Terraform) bool { return t.Namespace+"/"+t.Name == o.Name })
		if i < 0 {
			stacks = append(stacks, given)
			continue
		}
		given.Status = stacks[i].Status
		stacks[i] = given
	}
	for i := range stacks {
		ready := conditions.Of(&stacks[i], infrav1.ConditionReady)
		f.failed[stacks[i].Namespace+"/"+stacks[i].Name] = slices.Contains(failures, ready.Reason)
	}
	f.edges = impact.Of(stacks)
	return f, nil
}

// failures are the reasons of stacks whose plans fail already.
var failures = []string{infrav1.ReasonPlanFailed, infrav1.ReasonInitFailed, infrav1.ReasonVarsGenerationFailed, infrav1.ReasonTemplateGenerationFailed, infrav1.ReasonContractMisfit}

// add takes the plan of a stack of the pull request.
func (f *following) add(o pullrequests.Origin) {
	f.names = append(f.names, o.Name)
	if o.TooLarge {
		f.plans[o.Name] = nil
	} else {
		c := impact.Change{}
		for _, output := range o.Changed {
			c[output.Name] = output
		}
		f.plans[o.Name] = c
	}
	f.breaks(o.Broken)
}

func (f *following) breaks(broken []pullrequests.Broken) {
	for _, b := range broken {
		if !slices.Contains(f.broken[b.Stack], b.Says) {
			f.broken[b.Stack] = append(f.broken[b.Stack], b.Says)
		}
	}
}

// visible reports whether a stack may be named: one of the planner's namespace, or one that reads a contract that
// breaks, which the producer's status names, too.
func (f *following) visible(stack string) bool {
	namespace, _, _ := strings.Cut(stack, "/")
	return f.cross || namespace == f.q.Namespace || len(f.broken[stack]) > 0
}

// Foresee implements [pullrequests.Impact].
func (p *pullPlans) Foresee(ctx context.Context, q pullrequests.Question) (pullrequests.Consequences, error) {
	f, err := p.follow(ctx, q)
	if err != nil {
		return pullrequests.Consequences{}, err
	}
	return f.consequences(nil), nil
}

// consequences are the stacks behind. planned are those that were planned.
func (f *following) consequences(planned map[string]comment.Consequence) (out pullrequests.Consequences) {
	found := f.edges.ImpactOfAll(f.names, f.plans)
	if found.Cycle != nil {
		out.Note = "these stacks read from each other in a circle, so that their levels mean nothing: " + strings.Join(found.Cycle, ", ")
	}
	seen := map[string]bool{}
	for i, level := range found.Levels {
		for _, r := range level {
			seen[r.Stack] = true
			c := f.consequence(r, i+1)
			if made, ok := planned[r.Stack]; ok {
				c.Counts, c.Outputs, c.Changes = made.Counts, made.Outputs, made.Changes
				if c.Effect != comment.Breaks {
					c.Effect, c.Because = made.Effect, made.Because
				}
			}
			switch {
			case r.Effect == impact.Rests && len(f.broken[r.Stack]) == 0:
			case !f.visible(r.Stack), i+1 > f.q.Levels && len(f.broken[r.Stack]) == 0:
				out.More++
			default:
				out.List = append(out.List, c)
			}
		}
	}
	for stack := range f.broken { // it reads nothing else that changes
		if !seen[stack] {
			out.List = append(out.List, f.consequence(impact.Reached{Stack: stack}, 1))
		}
	}
	out.List = comment.ByRisk(out.List)
	return out
}

// consequence translates a reached stack.
func (f *following) consequence(r impact.Reached, level int) comment.Consequence {
	c := comment.Consequence{Name: r.Stack, Level: level, Effect: comment.MayRun, Here: slices.Contains(f.names, r.Stack)}
	if r.Effect == impact.Runs {
		c.Effect = comment.Runs
	}
	for _, in := range r.Inputs {
		c.Inputs = append(c.Inputs, comment.Input{From: in.From, Path: in.Path, Before: in.Before.Inline(), After: in.After.Inline()})
	}
	if len(r.Inputs) == 0 {
		c.Because = r.Because
	}
	if broken := f.broken[r.Stack]; len(broken) > 0 {
		c.Effect, c.Because = comment.Breaks, broken
	}
	if r.Suspended {
		c.Because = append(slices.Clone(c.Because), "it is suspended")
	}
	return c
}

const (
	// behindAtOnce is how many of the stacks behind are planned at a time, maxBehindPlans how many at all.
	behindAtOnce   = 4
	maxBehindPlans = 100
)

// behindWalk plans the stacks behind.
type behindWalk struct {
	*following
	plansOf *pullPlans
	source  *pullrequests.Source
	trigger string
	mu      sync.Mutex
	// made are the results, outputs the planned outputs of all stacks so far.
	made    map[string]comment.Consequence
	outputs map[string]*speculative.Planned
}

// PlanBehind implements [pullrequests.Impact]. It plans the stacks of the pull request again, as far as others read from
// them: planned outputs are not kept, because they have sensitive values.
func (p *pullPlans) PlanBehind(ctx context.Context, q pullrequests.Question, s *pullrequests.Source, trigger string) (pullrequests.Consequences, error) {
	f, err := p.follow(ctx, q)
	if err != nil {
		return pullrequests.Consequences{}, err
	}
	w := &behindWalk{following: f, plansOf: p, source: s, trigger: trigger, made: map[string]comment.Consequence{}, outputs: map[string]*speculative.Planned{}}
	if err := w.first(ctx); err != nil {
		return pullrequests.Consequences{}, err
	}
	steps, left := &impact.Walk{Map: f.edges, Of: f.names, Plans: f.plans}, maxBehindPlans
	for range q.Levels {
		step, more := steps.Next()
		if !more {
			break
		}
		w.blocked(steps, step)
		open := slices.DeleteFunc(step.Open, func(r impact.Reached) bool { return !w.plannable(r.Stack) })
		n := min(len(open), left)
		left -= n
		w.each(n, func(i int) { w.plan(ctx, open[i]) })
		if ctx.Err() != nil {
			return pullrequests.Consequences{}, context.Cause(ctx)
		}
	}
	out := f.consequences(w.made)
	if left == 0 {
		out.Note = fmt.Sprintf("only %d of the stacks behind are planned", maxBehindPlans)
	}
	return out, nil
}

// plannable reports whether a stack may be planned for this planner, as those that follow its repository.
func (w *behindWalk) plannable(stack string) bool {
	namespace, _, _ := strings.Cut(stack, "/")
	return w.cross || namespace == w.q.Namespace
}

// each does something n times, some at a time.
func (w *behindWalk) each(n int, do func(i int)) {
	var workers sync.WaitGroup
	free := make(chan struct{}, behindAtOnce)
	for i := range n {
		free <- struct{}{}
		workers.Go(func() { do(i); <-free })
	}
	workers.Wait()
}

// first plans the stacks of the pull request from which others read what changes.
func (w *behindWalk) first(ctx context.Context) error {
	var needed []pullrequests.Origin
	read := map[string]bool{}
	for _, level := range w.edges.ImpactOfAll(w.names, w.plans).Levels {
		for _, r := range level {
			for _, from := range r.From {
				read[from] = true
			}
		}
	}
	for _, o := range w.q.Stacks {
		if read[o.Name] {
			needed = append(needed, o)
		}
	}
	problems := make([]error, len(needed))
	w.each(len(needed), func(i int) {
		o := needed[i]
		made, planned, err := w.plansOf.planWith(ctx, keyOf(o.Name), w.sourceOf(o), o.Manifest, w.q.As, w.trigger, nil)
		switch {
		case err != nil:
			problems[i] = fmt.Errorf("plan %s: %w", o.Name, err)
		case planned == nil:
			problems[i] = fmt.Errorf("plan %s: %s", o.Name, made.Error)
		default:
			w.mu.Lock()
			w.outputs[o.Name] = planned
			w.mu.Unlock()
		}
	})
	for _, err := range problems {
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *behindWalk) sourceOf(o pullrequests.Origin) *pullrequests.Source {
	if o.Elsewhere {
		return nil
	}
	if o.Source != nil {
		return o.Source
	}
	return w.source
}

// keyOf reads NAMESPACE/NAME.
func keyOf(stack string) types.NamespacedName {
	namespace, name, _ := strings.Cut(stack, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// blocked notes the stacks that read from some that have no plan.
func (w *behindWalk) blocked(steps *impact.Walk, step impact.Step) {
	for _, r := range step.Blocked {
		w.made[r.Stack] = comment.Consequence{Effect: comment.Unknown, Because: []string{"it reads from " + strings.Join(steps.Needs(r), ", ") + ", which has no plan"}}
	}
}

// plan plans one stack with the planned values of those that it reads from.
func (w *behindWalk) plan(ctx context.Context, r impact.Reached) {
	w.mu.Lock()
	var standIns []*speculative.Planned
	for _, from := range r.From {
		if planned := w.outputs[from]; planned != nil {
			standIns = append(standIns, planned)
		}
	}
	w.mu.Unlock()
	var source *pullrequests.Source
	var manifest []byte
	if i := slices.IndexFunc(w.q.Stacks, func(o pullrequests.Origin) bool { return o.Name == r.Stack }); i >= 0 {
		source, manifest = w.sourceOf(w.q.Stacks[i]), w.q.Stacks[i].Manifest
	}
	made, planned, err := w.plansOf.planWith(ctx, keyOf(r.Stack), source, manifest, w.q.As, w.trigger, standIns)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made[r.Stack] = w.result(r.Stack, &made, err)
	if planned == nil {
		return
	}
	c := impact.Change{}
	for _, output := range made.Reads.Changed {
		c[output.Name] = output
	}
	w.plans[r.Stack], w.outputs[r.Stack] = c, planned
	w.breaks(made.Reads.Broken)
}

// result is what the plan of a stack says.
func (w *behindWalk) result(stack string, made *pullrequests.Plan, err error) comment.Consequence {
	c := comment.Consequence{Counts: made.Counts, Outputs: made.Outputs, Changes: made.Text}
	failed := made.Error
	if err != nil {
		failed = err.Error()
	}
	for _, v := range made.Verdicts {
		if v.Refuses {
			c.Effect = comment.Refused
			c.Because = append(c.Because, v.Policy+": "+v.Message)
		}
	}
	switch {
	case c.Effect == comment.Refused:
	case len(made.Needs) > 0:
		c.Effect, c.Because = comment.Unknown, []string{"it reads " + strings.Join(made.Needs, "; ") + ", which is known after the apply"}
	case failed != "" && w.failed[stack]:
		c.Effect, c.Because = comment.Unknown, []string{"its plans fail without this change, too"}
	case failed != "":
		c.Effect, c.Because = comment.Fails, []string{said(made, failed)}
	case made.Counts.Zero() && made.Outputs == 0:
		c.Effect = comment.Same
	default:
		c.Effect = comment.Changes
	}
	return c
}

// said is the first error in words.
func said(made *pullrequests.Plan, failed string) string {
	if len(made.Problems) > 0 {
		return strings.TrimSpace(made.Problems[0].Summary + ": " + strings.Join(strings.Fields(made.Problems[0].Detail), " "))
	}
	return strings.Join(strings.Fields(failed), " ")
}
