// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/module"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// lookBook remembers the last decision about each stack, by its name.
type lookBook struct{ last sync.Map }

func (l *lookBook) note(stack run.Stack, d decide.Decision, now time.Time) {
	name := types.NamespacedName{Namespace: stack.Namespace, Name: stack.Name}
	look := run.Looked{At: now, Verb: string(d.Verb), Reason: d.Reason, Since: now}
	if before := l.of(name); before != nil && before.Verb == look.Verb && before.Reason == look.Reason {
		look.Since = before.Since
	}
	l.last.Store(name, look)
}

func (l *lookBook) forget(name types.NamespacedName) { l.last.Delete(name) }

func (l *lookBook) of(name types.NamespacedName) *run.Looked {
	if look, ok := l.last.Load(name); ok {
		look := look.(run.Looked) //nolint:forcetypeassert // only note stores
		return &look
	}
	return nil
}

// whyRuns is how many runs an explanation considers.
const whyRuns = 10

// Why explains the decision about a stack. It decides again from current facts, and has no effects.
func (r *Reconciler) Why(ctx context.Context, name types.NamespacedName) (run.Why, error) {
	why := run.Why{Namespace: name.Namespace, Name: name.Name, Looked: r.looks.of(name)}
	var obj infrav1.Terraform
	if err := r.Reader.Get(ctx, name, &obj); err != nil {
		return why, err
	}
	why.OwnTool = obj.Spec.Tool != nil
	if r.PinnedTool != nil && !why.OwnTool {
		pin, err := r.PinnedTool(ctx, name.Namespace)
		if err != nil {
			return why, err
		}
		if pin != (run.Tool{}) {
			why.OwnTool = true
			why.Note(fmt.Sprintf("The namespace %s sets the tool of its stacks without spec.tool: %s (annotations %s and %s). A change starts no run; the next run uses it.",
				name.Namespace, strings.TrimSpace(pin.Name+" "+pin.Version), infrav1.AnnotationToolVersion, infrav1.AnnotationToolName))
		}
	}
	if r.Notices != nil {
		for _, text := range r.Notices(run.StackOf(&obj)) {
			why.Note(text)
		}
	}
	dependants, err := relativesOf(r).dependants(ctx, name)
	if err != nil {
		return why, err
	}
	p, err := r.gather(ctx, &held{collected: collected{pass: *r.pass(&obj)}, dependants: dependants})
	if err != nil {
		return why, fmt.Errorf("explain stack %s: %w", name, err)
	}
	for _, note := range ownersNotes(&obj) {
		why.Note(note)
	}
	why.Decision = decidedAs(&decided{gathered: *p, decision: decide.Decide(p.facts)})
	records, err := r.Runs.List(ctx, p.stack, whyRuns)
	if err != nil {
		return why, err
	}
	records = slices.DeleteFunc(records, func(rec run.Record) bool { return rec.Spec.Operation.ByHand() })
	r.explainRuns(ctx, &why, records, p.config)
	why.Proof = p.proof()
	if planned := lastPlan(records); planned != nil {
		why.Planned = inShortOf(planned)
		if p.config != nil {
			is := r.now(ctx, p)
			why.Changes = r.changedSince(ctx, &why, ofRecord(planned), is, planned.UsedKept)
		}
	}
	return why, nil
}

func decidedAs(p *decided) run.Decided {
	d := p.decision
	out := run.Decided{Verb: string(d.Verb), Subject: d.Subject, Reason: d.Reason, Message: d.Message, Detail: d.Detail}
	if next := p.nextCheck(); !next.IsZero() {
		out.NextLook = &next
	}
	return out
}

// proof lists the dependencies of the stack's configuration; nil without one.
func (p *gathered) proof() *run.Proof {
	if p.config == nil {
		return nil
	}
	proof := p.config.Proof()
	proof.Unchanged = p.facts.Config != "" && p.facts.Config == p.facts.Stack.PlannedConfig
	if s := p.facts.Stack; s.DetectDrift && !s.Destroy && s.Interval > 0 {
		proof.Drift = s.Interval.String()
	}
	return proof
}

// explainRuns compares the last run with the one before; an apply, with the one before its plan.
func (r *Reconciler) explainRuns(ctx context.Context, why *run.Why, records []run.Record, config *reads.Configuration) {
	if len(records) == 0 {
		return
	}
	last := &records[0]
	why.LastRun = inShortOf(last)
	for i := range records[1:] {
		if before := &records[1+i]; before.Config != "" && before.Spec.Artifact.Digest != "" && !applies(last, before) {
			why.LastRun.Before = before.Spec.ID
			was, is := ofRecord(before), ofRecord(last)
			was.serial = nil // the state that it left is not its input
			if config != nil {
				is.origins = config.Origins
			}
			why.LastRun.Changes = r.changedSince(ctx, why, was, is, before.UsedKept || last.UsedKept)
			return
		}
	}
}

// applies reports whether a run applies the plan of another.
func applies(rec, of *run.Record) bool {
	return rec.Spec.Plan != nil && rec.Spec.Plan.RunID == of.Spec.ID
}

// lastPlan is the newest run that came to a plan.
func lastPlan(records []run.Record) *run.Record {
	for i := range records {
		if result := records[i].Result; result != nil && result.Outcome == run.OutcomeSucceeded && (result.Plan != nil || result.Applied) {
			return &records[i]
		}
	}
	return nil
}

func inShortOf(rec *run.Record) *run.RunInShort {
	s := &run.RunInShort{ID: rec.Spec.ID, Operation: rec.Spec.Operation, Purpose: rec.Spec.Purpose, Created: rec.Created, Revision: rec.Spec.Artifact.Revision,
		Trigger: rec.Trigger, By: rec.By, Passes: rec.Passes}
	result := rec.Result
	if result == nil {
		return s
	}
	s.Outcome, s.Finished = result.Outcome, &result.Finished
	s.Tool = strings.TrimSpace(result.ToolName + " " + result.ToolVersion)
	switch {
	case result.AppliedCounts != nil:
		s.Plan = "applied " + plan.Counts(*result.AppliedCounts).Summary()
	case result.Plan != nil && result.Plan.Changes:
		s.Plan = plan.Counts(result.Plan.Counts).Summary()
	case result.Plan != nil:
		s.Plan = "no changes"
	}
	return s
}

// now are the inputs as they are now.
func (r *Reconciler) now(ctx context.Context, p *gathered) known {
	s, err := runDraftsOf(r).spec(ctx, p)
	if err != nil {
		r.Log.Warn("cannot read which tool the namespace sets", "stack", p.stack.String(), "error", err)
	}
	s.Destroy = p.obj.Spec.Destroy
	is := known{artifact: s.Artifact, path: s.Path, spec: &s, inputs: *p.config.Inputs(), origins: p.config.Origins}
	if p.obj.KeepsOwnState() {
		return is
	}
	snapshot, err := r.States.Read(ctx, stateKeyOf(p.obj))
	switch {
	case state.Lasting(err):
	case err != nil:
		r.Log.Warn("cannot read the state's serial", "stack", p.stack.String(), "error", err)
	case snapshot.Data != nil && snapshot.Serial > 0:
		is.serial = &snapshot.Serial
	}
	return is
}

// changedSince lists the changed inputs, with the files of the source if both archives exist.
func (r *Reconciler) changedSince(ctx context.Context, why *run.Why, was, is known, kept bool) []run.InputChange {
	if kept {
		return nil // it used the last applied inputs
	}
	list := changedInputs(was, is)
	for i := range list {
		c := &list[i]
		if c.Part != "source" || c.Untouched {
			continue
		}
		var problem string
		c.Files, c.MoreFiles, problem = r.Source.Changed(ctx, was.artifact.Digest, is.artifact.Digest, countsIn(was, is))
		if problem != "" {
			why.Note("Cannot list the changed files of the source: " + problem)
		}
	}
	return list
}

// countsIn reports which files of a source count at either moment.
func countsIn(was, is known) func(name string) bool {
	if was.inputs.MayBe() == "" || is.inputs.Part == "" {
		return func(string) bool { return true }
	}
	dirs := slices.Concat(was.inputs.Dirs, is.inputs.Dirs, was.spec.VarFiles, is.spec.VarFiles)
	return func(name string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return module.Within(name, dir) })
	}
}
