// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/health"
)

// Health checks run in the background: a pass starts them, and their end triggers the next pass.
// Results are kept in memory only; after a restart, the condition is kept until the first check
// ends.

// ensureHealth reports the last check and starts another if it is due.
func (c healthChecks) ensureHealth(ctx context.Context, p *acted) error {
	obj, d := p.obj, p.decision
	if len(obj.Spec.HealthChecks) == 0 || obj.Spec.Destroy || p.facts.Stack.Deleting || obj.Status.LastAppliedRevision == "" {
		conditions.Remove(obj, infrav1.ConditionHealthCheck)
		c.book.Forget(p.stack)
		return nil
	}
	// If the stack is about to change, check it afterwards.
	if p.facts.Stack.Suspended || d.Verb == decide.VerbAwaitRun || d.Verb == decide.VerbApply {
		return nil
	}
	key := healthKey(obj)
	last, known := c.book.Last(p.stack)
	if !known || !last.Running && lookDue(&p.pass, last, key) {
		// After a restart, keep the condition, unless it is about an earlier apply.
		said := conditions.Of(obj, infrav1.ConditionHealthCheck).Type != "" && !p.movedState()
		if err := c.look(ctx, &p.pass, health.Entry{Key: key, Again: known && last.Key == key || !known && said}); err != nil {
			return err
		}
		last, _ = c.book.Last(p.stack)
	}
	tellHealth(obj, last, key)
	if !last.Running {
		p.lookAgain = nextLook(obj, last)
	}
	return nil
}

// lookDue: changes are checked at once, failed checks repeat after the retry interval, and passed
// ones at the interval of drift detection.
func lookDue(p *pass, last health.Entry, key string) bool {
	next := nextLook(p.obj, last)
	return last.Key != key || !next.IsZero() && !p.now.Before(next)
}

// nextLook is zero for a stack that disables periodic checks.
func nextLook(obj *infrav1.Terraform, last health.Entry) time.Time {
	if last.Failure != "" {
		return last.At.Add(max(obj.GetRetryInterval(), time.Second))
	}
	if interval := obj.GetDriftDetectionInterval(); interval > 0 {
		return last.At.Add(interval)
	}
	return time.Time{}
}

// healthKey identifies a check. It reveals nothing: the digest of the outputs is salted.
func healthKey(obj *infrav1.Terraform) string {
	checks, err := json.Marshal(obj.Spec.HealthChecks)
	if err != nil {
		panic("encode health checks: " + err.Error() + ". This is a bug in Yuba.")
	}
	sum := sha256.Sum256([]byte(obj.Status.LastAppliedRun + "\n" + obj.Status.OutputsDigest + "\n" + string(checks)))
	return hex.EncodeToString(sum[:])
}

// look starts a check.
func (c healthChecks) look(ctx context.Context, p *pass, entry health.Entry) error {
	probes, problem, err := c.probes(ctx, p)
	if err != nil {
		return err
	}
	if problem != "" {
		entry.At, entry.Failure = p.now, problem
		c.book.Note(p.stack, entry)
		return nil
	}
	c.book.Begin(ctx, p.stack, entry, c.now, func(ctx context.Context) error { return health.Look(ctx, probes) })
	return nil
}

// probes fills the outputs into the checks. A problem is for the user to solve.
func (c healthChecks) probes(ctx context.Context, p *pass) (probes []health.Probe, problem string, err error) {
	outputs := map[string]health.Output{}
	if health.Uses(p.obj.Spec.HealthChecks) {
		printed, _, err := c.outputs.readOutputs(ctx, p)
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

// tellHealth writes the result of the checks to the condition.
func tellHealth(obj *infrav1.Terraform, last health.Entry, key string) {
	switch {
	case last.Key != key || last.Running && !last.Again:
		setCondition(obj, infrav1.ConditionHealthCheck, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageCheckingHealth)
	case last.Running:
	case last.Failure != "":
		setCondition(obj, infrav1.ConditionHealthCheck, metav1.ConditionFalse, infrav1.ReasonHealthChecksFailed, last.Failure)
	default:
		setCondition(obj, infrav1.ConditionHealthCheck, metav1.ConditionTrue, infrav1.ReasonHealthChecksSucceeded, infrav1.MessageHealthy)
	}
}

// gate delays Ready until the checks pass. The event of the apply does not wait for that.
func (p *collected) gate() {
	was := conditions.Of(p.obj, infrav1.ConditionReady)
	gateOnHealth(p.obj)
	if p.applied() && was.Status == metav1.ConditionTrue && heldByHealth(conditions.Of(p.obj, infrav1.ConditionReady)) {
		p.notes = append(p.notes, p.tellOfSuccess())
	}
}

// gateOnHealth makes a stack ready only when checks pass. Other Ready conditions stay.
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

// heldByHealth reports whether only health checks keep a stack from being ready.
func heldByHealth(ready metav1.Condition) bool {
	return ready.Reason == infrav1.ReasonHealthChecksFailed ||
		ready.Reason == infrav1.ReasonProgressing && ready.Message == infrav1.MessageCheckingHealth
}

// readyAgain restores Ready from the last apply.
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

// sameTransition restores the transition times of conditions with an unchanged status: a pass may
// set Ready several times.
func sameTransition(obj, before *infrav1.Terraform) {
	for i := range obj.Status.Conditions {
		is := &obj.Status.Conditions[i]
		if was := conditions.Of(before, is.Type); was.Type != "" && was.Status == is.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
	}
}
