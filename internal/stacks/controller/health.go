// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/health"
)

// Health checks are made beside the passes and never hold one up: a pass starts them, and their end brings the next. What
// they found is remembered in this process only, so that everything is looked at once after a start; what the object's
// condition said before stays until then.

// looks is how many stacks of a namespace are looked at at the same time. Who has many stacks that do not answer keeps
// nobody else waiting.
const looks = 16

// healthBook holds what health checks found. Its zero value is ready.
type healthBook struct {
	once sync.Once
	over chan run.Stack

	mu     sync.Mutex
	stacks map[run.Stack]*healthEntry
	// stops end the looks that go on.
	stops map[run.Stack]context.CancelFunc
	// places are taken by the looks that go on, by namespace.
	places map[string]chan struct{}
}

// healthEntry is the last look at a stack, or the one that goes on.
type healthEntry struct {
	// key says what was looked at: which apply, which checks, with which outputs.
	key     string
	running bool
	// again is true for a look that goes on at what was looked at before: what was said then still stands.
	again bool
	at    time.Time
	// failure is empty for a healthy stack.
	failure string
}

func (b *healthBook) ready() *healthBook {
	b.once.Do(func() {
		b.over, b.stacks = make(chan run.Stack, 1024), map[run.Stack]*healthEntry{}
		b.stops, b.places = map[run.Stack]context.CancelFunc{}, map[string]chan struct{}{}
	})
	return b
}

// ended tells which stacks' checks are over.
func (b *healthBook) ended() <-chan run.Stack { return b.ready().over }

// begin makes a look in a goroutine of its own, instead of one that goes on.
func (b *healthBook) begin(ctx context.Context, stack run.Stack, entry *healthEntry, now func() time.Time, look func(context.Context) error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	places := b.set(stack, entry, stop)
	go func() {
		defer stop()
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		err := look(ctx)
		<-places
		if b.conclude(stack, entry, now(), err) {
			b.over <- stack
		}
	}()
}

func (b *healthBook) last(stack run.Stack) (healthEntry, bool) {
	b.ready()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.stacks[stack]
	if e == nil {
		return healthEntry{}, false
	}
	return *e, true
}

// forget ends a look that goes on, too: nobody waits for it.
func (b *healthBook) forget(stack run.Stack) {
	b.ready()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(stack)
}

func (b *healthBook) drop(stack run.Stack) {
	if stop := b.stops[stack]; stop != nil {
		stop()
	}
	delete(b.stops, stack)
	delete(b.stacks, stack)
}

// set writes an entry down, with what ends its look if one goes on, and returns the places of the stack's namespace.
func (b *healthBook) set(stack run.Stack, e *healthEntry, stop context.CancelFunc) chan struct{} {
	b.ready()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(stack)
	b.stacks[stack] = e
	if stop != nil {
		b.stops[stack] = stop
	}
	if b.places[stack.Namespace] == nil {
		b.places[stack.Namespace] = make(chan struct{}, looks)
	}
	return b.places[stack.Namespace]
}

// conclude writes down what a look found, unless the stack was forgotten meanwhile or another look has begun.
func (b *healthBook) conclude(stack run.Stack, e *healthEntry, at time.Time, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stacks[stack] != e {
		return false
	}
	done := &healthEntry{key: e.key, at: at}
	if err != nil {
		done.failure = err.Error()
	}
	b.stacks[stack] = done
	delete(b.stops, stack)
	return true
}

// ensureHealth says what the last look found and starts another when one is due.
func (r *Reconciler) ensureHealth(ctx context.Context, p *acted) error {
	obj, d := p.obj, p.decision
	if len(obj.Spec.HealthChecks) == 0 || obj.Spec.Destroy || p.facts.Stack.Deleting || obj.Status.LastAppliedRevision == "" {
		conditions.Remove(obj, infrav1.ConditionHealthCheck)
		r.health.forget(p.stack)
		return nil
	}
	// What is about to be changed is looked at afterwards.
	if p.facts.Stack.Suspended || d.Verb == decide.VerbAwaitRun || d.Verb == decide.VerbApply {
		return nil
	}
	key := healthKey(obj)
	last, known := r.health.last(p.stack)
	if !known || !last.running && lookDue(&p.pass, last, key) {
		// After a start nothing is known, and what the object says still stands, unless it is about an earlier apply.
		said := conditions.Of(obj, infrav1.ConditionHealthCheck).Type != "" && !p.movedState()
		if err := r.look(ctx, &p.pass, healthEntry{key: key, again: known && last.key == key || !known && said}); err != nil {
			return err
		}
		last, _ = r.health.last(p.stack)
	}
	tellHealth(obj, last, key)
	if !last.running {
		p.lookAgain = nextLook(obj, last)
	}
	return nil
}

// lookDue: what changed is looked at at once, what does not answer after the retry interval, and what does with each
// interval in which drift is looked for.
func lookDue(p *pass, last healthEntry, key string) bool {
	next := nextLook(p.obj, last)
	return last.key != key || !next.IsZero() && !p.now.Before(next)
}

// nextLook is zero for a stack that says to look at nothing without a reason.
func nextLook(obj *infrav1.Terraform, last healthEntry) time.Time {
	if last.failure != "" {
		return last.at.Add(max(obj.GetRetryInterval(), time.Second))
	}
	if interval := obj.GetDriftDetectionInterval(); interval > 0 {
		return last.at.Add(interval)
	}
	return time.Time{}
}

// healthKey names what is looked at. It is no secret: the digest of the outputs is salted.
func healthKey(obj *infrav1.Terraform) string {
	checks, err := json.Marshal(obj.Spec.HealthChecks)
	if err != nil {
		panic("encode health checks: " + err.Error() + ". This is a bug in Yuba.")
	}
	sum := sha256.Sum256([]byte(obj.Status.LastAppliedRun + "\n" + obj.Status.OutputsDigest + "\n" + string(checks)))
	return hex.EncodeToString(sum[:])
}

// look starts the checks.
func (r *Reconciler) look(ctx context.Context, p *pass, entry healthEntry) error {
	probes, problem, err := r.probes(ctx, p)
	if err != nil {
		return err
	}
	if problem != "" {
		entry.at, entry.failure = p.now, problem
		r.health.set(p.stack, &entry, nil)
		return nil
	}
	entry.running = true
	r.health.begin(ctx, p.stack, &entry, r.Now, func(ctx context.Context) error { return health.Look(ctx, probes) })
	return nil
}

// probes fills the outputs into the checks; a problem is the user's to solve.
func (r *Reconciler) probes(ctx context.Context, p *pass) (probes []health.Probe, problem string, err error) {
	outputs := map[string]health.Output{}
	if health.Uses(p.obj.Spec.HealthChecks) {
		printed, _, err := r.readOutputs(ctx, p)
		if err != nil {
			return nil, "", err
		}
		for name, o := range printed {
			outputs[name] = health.Output{Text: string(o.Value), Sensitive: o.Sensitive}
		}
		// Aliases of the outputs Secret are names, too.
		if want := p.obj.Spec.WriteOutputsToSecret; want != nil {
			for _, w := range want.Outputs {
				if name, alias := splitAlias(w); alias != name {
					if o, ok := outputs[name]; ok {
						outputs[alias] = o
					}
				}
			}
		}
	}
	probes, err = health.Prepare(p.obj.Spec.HealthChecks, outputs)
	if err != nil {
		return nil, err.Error(), nil
	}
	return probes, "", nil
}

// tellHealth writes what is known into the condition.
func tellHealth(obj *infrav1.Terraform, last healthEntry, key string) {
	switch {
	case last.key != key || last.running && !last.again:
		setCondition(obj, infrav1.ConditionHealthCheck, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageCheckingHealth)
	case last.running:
	case last.failure != "":
		setCondition(obj, infrav1.ConditionHealthCheck, metav1.ConditionFalse, infrav1.ReasonHealthChecksFailed, last.failure)
	default:
		setCondition(obj, infrav1.ConditionHealthCheck, metav1.ConditionTrue, infrav1.ReasonHealthChecksSucceeded, infrav1.MessageHealthy)
	}
}

// gate holds Ready back. What was applied is told all the same, for no condition says so before everything answers.
func (p *collected) gate() {
	was := conditions.Of(p.obj, infrav1.ConditionReady)
	gateOnHealth(p.obj)
	if p.applied() && was.Status == metav1.ConditionTrue && heldByHealth(conditions.Of(p.obj, infrav1.ConditionReady)) {
		p.notes = append(p.notes, p.tellOfSuccess())
	}
}

// gateOnHealth keeps a stack from being ready before everything answers that must, and makes it ready again when that
// alone was missing. A Ready condition that tells of something else stays as it is.
func gateOnHealth(obj *infrav1.Terraform) {
	ready, check := conditions.Of(obj, infrav1.ConditionReady), conditions.Of(obj, infrav1.ConditionHealthCheck)
	held := heldByHealth(ready)
	switch {
	case check.Type == "" || check.Status == metav1.ConditionTrue:
		if held {
			readyAgain(obj)
		}
	case ready.Status != metav1.ConditionTrue && !held:
	case check.Status == metav1.ConditionFalse:
		setReady(obj, metav1.ConditionFalse, check.Reason, check.Message)
	default:
		setReady(obj, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageCheckingHealth)
	}
}

// heldByHealth says that health checks, and nothing else, keep a stack from being ready.
func heldByHealth(ready metav1.Condition) bool {
	return ready.Reason == infrav1.ReasonHealthChecksFailed ||
		ready.Reason == infrav1.ReasonProgressing && ready.Message == infrav1.MessageCheckingHealth
}

// readyAgain says what the last apply came to.
func readyAgain(obj *infrav1.Terraform) {
	revision := obj.Status.LastAppliedRevision
	if output := conditions.Of(obj, infrav1.ConditionOutput); output.Reason == infrav1.ReasonOutputsWritten {
		setReady(obj, metav1.ConditionTrue, output.Reason, at(output.Message, revision))
		return
	}
	message := infrav1.MessageApplied
	if apply := conditions.Of(obj, infrav1.ConditionApply); apply.Status == metav1.ConditionTrue {
		message = apply.Message
	}
	setReady(obj, metav1.ConditionTrue, infrav1.ReasonApplied, at(message, revision))
}

// sameTransition gives conditions that are what they were before the pass the time they had: a pass may take Ready
// through several states.
func sameTransition(obj, before *infrav1.Terraform) {
	for i := range obj.Status.Conditions {
		is := &obj.Status.Conditions[i]
		if was := conditions.Of(before, is.Type); was.Type != "" && was.Status == is.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
	}
}
