// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// tries makes speculative plans. They are in memory only: a new server does not know them, and its
// runners drop them. Nothing is left of one after its end but the answer, for a while.
type tries struct {
	engine *engine
	draft  func(ctx context.Context, name client.ObjectKey, by string, replace run.Replacement, resolved map[string]string) (*run.Record, error)

	mu   sync.Mutex
	byID map[string]*try
}

// try is one speculative plan.
type try struct {
	// owner is the stack, stack the name under which the plan runs.
	owner, stack run.Stack
	begun        time.Time
	// asked is when the client last asked for it.
	asked  time.Time
	answer content.Try
	ended  chan struct{}
}

const (
	// maxTries limits the speculative plans in memory, running or not.
	maxTries = 1000
	// tryPatience is how long the client may be silent: then the plan ends, and is forgotten.
	tryPatience = time.Minute
	tryEvery    = 5 * time.Second
)

func newTries(e *engine, r *stacks.Reconciler) *tries {
	return &tries{engine: e, draft: r.DraftTry, byID: map[string]*try{}}
}

// Start starts a speculative plan.
func (t *tries) Start(ctx context.Context, obj *infrav1.Terraform, module, version, by string) (content.Try, error) {
	if _, err := layout.ParseVersion(version); err != nil {
		return content.Try{}, &run.RefusedError{Message: "try " + module + ": " + err.Error()}
	}
	stack := run.StackOf(obj)
	address, from, resolved, err := t.used(stack, module)
	if err != nil {
		return content.Try{}, err
	}
	rec, err := t.draft(ctx, client.ObjectKeyFromObject(obj), by, run.Replacement{Source: address, Version: version}, resolved)
	if err != nil {
		return content.Try{}, err
	}
	one := &try{owner: stack, stack: rec.Spec.Stack, begun: time.Now(), asked: time.Now(), ended: make(chan struct{}),
		answer: content.Try{Namespace: obj.Namespace, Name: obj.Name, Run: rec.Spec.ID, From: from}}
	if err := t.add(rec.Spec.ID, one); err != nil {
		return content.Try{}, err
	}
	err = t.engine.executor.Prepare(ctx, *rec)
	if err == nil {
		err = t.engine.executor.Start(ctx, *rec)
	}
	if err != nil {
		t.mu.Lock()
		delete(t.byID, rec.Spec.ID)
		t.mu.Unlock()
		t.clear(one)
		return content.Try{}, err
	}
	return one.answer, nil
}

func (t *tries) add(id string, one *try) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID) >= maxTries {
		return &run.RefusedError{Message: fmt.Sprintf("this server has %d speculative plans already. Try again when they have ended", maxTries)}
	}
	t.byID[id] = one
	return nil
}

// used returns the address of the module as the stack uses it, the versions that it has of it, and
// those of all its modules.
func (t *tries) used(stack run.Stack, module string) (address string, from []string, resolved map[string]string, err error) {
	q, err := usage.ParseQuery(module, t.engine.ownHosts()...)
	if err == nil && q.Kind != usage.Module {
		err = fmt.Errorf("%s is a provider. Only modules can be tried", module)
	}
	if err != nil {
		return "", nil, nil, &run.RefusedError{Message: "try " + err.Error()}
	}
	entry, _ := t.engine.usage.index.Entry(stack.Namespace, stack.Name)
	resolved = map[string]string{}
	for _, set := range []*usage.Set{entry.Applied, entry.Planned} { // what was planned is newer
		if set == nil || entry.Stack.UID != stack.UID {
			continue
		}
		for _, u := range set.Uses {
			for _, key := range u.Keys {
				if u.Version != "" {
					resolved[key] = u.Version
				}
			}
			if u.Version != "" && q.Matches(u) {
				address = u.Source
				if !slices.Contains(from, u.Version) {
					from = append(from, u.Version)
				}
			}
		}
	}
	if address == "" {
		return "", nil, nil, &run.RefusedError{Message: fmt.Sprintf("%s does not use %s, as far as its runs have told", stack, module)}
	}
	return address, from, resolved, nil
}

func (t *tries) find(obj *infrav1.Terraform, id string) (*try, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.byID[id]
	if one == nil || one.owner != run.StackOf(obj) {
		return nil, fmt.Errorf("find the speculative plan %s of %s/%s: %w", id, obj.Namespace, obj.Name, run.ErrNotFound)
	}
	one.asked = time.Now()
	return one, nil
}

// Wait returns a plan when it has ended, or after a while.
func (t *tries) Wait(ctx context.Context, obj *infrav1.Terraform, id string) (content.Try, error) {
	one, err := t.find(obj, id)
	if err != nil {
		return content.Try{}, err
	}
	timer := time.NewTimer(content.TryWait)
	defer timer.Stop()
	select {
	case <-one.ended:
	case <-timer.C:
	case <-ctx.Done():
		return content.Try{}, context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one.asked = time.Now()
	answer := one.answer
	if rec, _, ok := t.engine.executor.InHand(one.stack); ok {
		answer.Waits = rec.Waits
	}
	return answer, nil
}

// Cancel ends a plan.
func (t *tries) Cancel(ctx context.Context, obj *infrav1.Terraform, id string) error {
	if _, err := t.find(obj, id); err != nil {
		return err
	}
	return t.engine.executor.Cancel(ctx, id)
}

// isTry reports whether a run belongs to a speculative plan, whose stack no controller knows.
func isTry(s run.Stack) bool { return strings.Contains(s.Name, stacks.TryMark) }

// over takes the end of a speculative plan, and removes what it stored.
func (t *tries) over(stack run.Stack) {
	rec, ended := t.engine.executor.TakeEnded(stack)
	if !ended {
		return // it waits for something else
	}
	t.mu.Lock()
	one := t.byID[rec.Spec.ID]
	var answer content.Try
	if one != nil {
		answer = one.answer
	}
	t.mu.Unlock()
	if one != nil {
		ctx, cancel := context.WithTimeout(context.Background(), clearPatience)
		answer = t.answer(ctx, answer, rec)
		cancel()
		t.mu.Lock()
		one.answer = answer
		select {
		case <-one.ended:
		default:
			close(one.ended)
		}
		t.mu.Unlock()
	}
	t.engine.executor.Recorded(stack, rec.Spec.ID)
	t.clear(&try{stack: stack})
}

// clearPatience limits reading and removing what a plan left: the run has ended, and with it its context.
const clearPatience = time.Minute

// clear removes the working directory and the records of a plan.
func (t *tries) clear(one *try) {
	t.engine.executor.Forget(one.stack)
	ctx, cancel := context.WithTimeout(context.Background(), clearPatience)
	defer cancel()
	if _, err := t.engine.executor.PruneGone(ctx, one.stack, time.Now().Add(time.Hour)); err != nil {
		t.engine.opts.Log.Warn("cannot remove the record of a speculative plan", "stack", one.stack.String(), "error", err)
	}
}

// answer completes the answer about a plan that has ended.
func (t *tries) answer(ctx context.Context, answer content.Try, rec run.Record) content.Try {
	result := rec.Result
	answer.Ended, answer.Outcome, answer.Error, answer.Replaced = true, result.Outcome, result.Error, result.Replaced
	answer.Took = run.Duration(result.Finished.Sub(cmp.Or(value(rec.Started), rec.Created)))
	switch {
	case result.Outcome != run.OutcomeSucceeded || result.Plan == nil:
		return answer
	case result.Replaced == 0:
		answer.Outcome, answer.Error = run.OutcomeFailed, "the program as it is now does not call the module, or not with a source that can be replaced"
		return answer
	case !result.Plan.Changes:
		return answer
	}
	answer.Counts = result.Plan.Counts
	document, err := t.engine.executor.ReadPlan(ctx, rec.Spec.Stack, rec.Spec.ID)
	var made *plan.Plan
	if err == nil {
		made, err = plan.Decode(document)
	}
	if err != nil {
		answer.Outcome, answer.Error = run.OutcomeFailed, "read the plan: "+err.Error()
		return answer
	}
	answer.Changes = changesInWords(made)
	return answer
}

func value(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// callName matches a module in an address, instanceKey the key of an instance.
var (
	callName    = regexp.MustCompile(`module\.[0-9A-Za-z_-]+(\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\])?\.`)
	instanceKey = regexp.MustCompile(`(\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\])$`)
)

var actionMarks = map[plan.Action]string{plan.Create: "+", plan.Update: "~", plan.Delete: "-", plan.Replace: "-/+", plan.Forget: "forget ", plan.Read: "read "}

// changesInWords lists what a plan changes so that the same change in two stacks is the same line:
// without the position of the module, keys and values, and counted.
func changesInWords(p *plan.Plan) []string {
	counts := map[string]int{}
	for _, c := range p.Changes {
		mark := cmp.Or(actionMarks[c.Action], string(c.Action))
		name := instanceKey.ReplaceAllString(callName.ReplaceAllString(c.Address, ""), "")
		what := mark + "%d " + name
		if c.Previous != "" {
			what = "moved %d " + name
		}
		counts[what]++
	}
	var words []string
	for what, n := range counts {
		words = append(words, strings.Replace(what, "%d", fmt.Sprint(n), 1))
	}
	slices.Sort(words)
	for _, o := range p.Outputs {
		words = append(words, fmt.Sprintf("%s output %s", cmp.Or(actionMarks[o.Action], string(o.Action)), o.Name))
	}
	if p.Omitted > 0 {
		words = append(words, fmt.Sprintf("and %d more", p.Omitted))
	}
	return words
}

// run ends the plans whose clients are gone, until ctx ends.
func (t *tries) run(ctx context.Context) error {
	tick := time.NewTicker(tryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			for _, id := range t.abandoned(time.Now()) {
				if err := t.engine.executor.Cancel(ctx, id); err != nil && !errors.Is(err, context.Canceled) {
					t.engine.opts.Log.Warn("cannot cancel a speculative plan that nobody waits for", "run", id, "error", err)
				}
			}
		}
	}
}

// abandoned forgets the ended plans that nobody asks for, and returns the others.
func (t *tries) abandoned(now time.Time) (working []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, one := range t.byID {
		if now.Sub(one.asked) < tryPatience {
			continue
		}
		select {
		case <-one.ended:
			delete(t.byID, id)
		default:
			working = append(working, id)
		}
	}
	return working
}
