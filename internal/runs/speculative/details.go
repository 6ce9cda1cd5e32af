// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// details are what people see of a plan beside its answer.
type details struct {
	// log is complete, or ends with a line that says that it is not. document is the readable plan.
	log, document []byte
	// dropped says that the server has no memory for them.
	dropped bool
}

func (d *details) size() int { return len(d.log) + len(d.document) }

const (
	// maxLog limits the kept log of a plan, maxDetails the details of all plans together: 400 plans of
	// usual stacks have about 10 MiB.
	maxLog     = 4 << 20
	maxDetails = 64 << 20
	// maxProblems limits the problems in an answer.
	maxProblems = 50
)

// undrafted is the answer about a plan that cannot be made. Unknown inputs are an answer, and so is a
// refusal by policies, if details are asked for.
func (e *entry) undrafted(err error) (Answer, error) {
	var unknown *UnknownError
	var refused *run.RefusedError
	switch {
	case errors.As(err, &unknown):
		e.answer.Ended, e.answer.Needs = true, unknown.Needs
	case e.detailed && errors.As(err, &refused) && refused.Policy:
		e.answer.Ended, e.answer.Outcome, e.answer.Error = true, run.OutcomeFailed, refused.Message
		e.answer.Policy = &Verdict{Decision: VerdictRefused, Message: refused.Message}
	default:
		return Answer{}, err
	}
	return e.answer, nil
}

// readDetails reads the details of a plan that has ended, before its records are removed.
func (d *Desk) readDetails(ctx context.Context, e *entry, rec run.Record, answer *Answer) (kept details) {
	log := &limited{limit: maxLog}
	if err := d.Executor.WriteLog(ctx, rec.Spec.Stack, rec.Spec.ID, false, log); err != nil && !errors.Is(err, run.ErrNotFound) {
		d.Log.Warn("cannot read the log of a speculative plan", "stack", e.owner.String(), "error", err)
	}
	kept.log = log.lines()
	answer.Problems = problemsOf(kept.log)
	result := rec.Result
	switch {
	case result.Class == run.FailurePolicy:
		answer.Policy = &Verdict{Decision: VerdictRefused, Message: result.Error}
		return kept
	case result.Outcome != run.OutcomeSucceeded || result.Plan == nil:
		return kept
	}
	var err error
	if kept.document, err = d.Executor.ReadPlan(ctx, rec.Spec.Stack, rec.Spec.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
		d.Log.Warn("cannot read a speculative plan", "stack", e.owner.String(), "error", err)
	}
	if d.Judge != nil && result.Plan.Changes {
		if answer.Policy, err = d.Judge(ctx, e.owner, rec, e.manifest); err != nil {
			// Nobody may take a plan that was not judged for one that passed.
			answer.Outcome, answer.Error = run.OutcomeFailed, "ask policies about the plan: "+err.Error()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := kept.size()
	for _, other := range d.byID {
		sum += other.details.size()
	}
	if sum > maxDetails {
		return details{dropped: true}
	}
	return kept
}

// problemsOf are the diagnostics in a log, each once: tofu repeats some.
func problemsOf(log []byte) (list diagnostic.List) {
	known := map[string]bool{}
	for line := range bytes.Lines(log) {
		event := plan.ParseEvent(line)
		if event.Type != plan.Diagnostic || event.Diagnostic == nil {
			continue
		}
		problem := *event.Diagnostic
		key := string(problem.Severity) + problem.String()
		if known[key] || len(list) >= maxProblems {
			continue
		}
		known[key] = true
		problem.Snippet = nil // the log has it
		list = append(list, problem)
	}
	return list
}

var errDropped = &run.RefusedError{Message: "this server keeps the plans and logs of too many speculative plans. Ask for fewer at a time"}

// Document returns the readable plan of a detailed plan that has ended, for the user who started it.
func (d *Desk) Document(owner run.Stack, id, by string) ([]byte, error) {
	e, err := d.owned(owner, id, by)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case e.details.dropped:
		return nil, errDropped
	case e.details.document == nil:
		return nil, fmt.Errorf("read the speculative plan %s of %s: %w", id, owner, run.ErrNotFound)
	}
	return e.details.document, nil
}

// WriteLog writes the log of a detailed plan as it grows, for the user who started it.
func (d *Desk) WriteLog(ctx context.Context, owner run.Stack, id, by string, w io.Writer) error {
	e, err := d.owned(owner, id, by)
	if err != nil {
		return err
	}
	if !e.over() {
		err := d.Executor.WriteLog(ctx, e.stack, id, true, w)
		if !errors.Is(err, run.ErrNotFound) {
			return err
		}
	}
	// Its records are removed at this moment.
	select {
	case <-e.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.mu.Lock()
	log, dropped := e.details.log, e.details.dropped
	d.mu.Unlock()
	if dropped {
		return errDropped
	}
	_, err = w.Write(log)
	return err
}

// owned finds a detailed plan of a user.
func (d *Desk) owned(owner run.Stack, id, by string) (*entry, error) {
	e, err := d.find(owner, id)
	switch {
	case err != nil:
		return nil, err
	case e.by != by:
		return nil, &run.RefusedError{Forbidden: true, Message: fmt.Sprintf("the speculative plan %s of %s belongs to another user", id, owner)}
	case !e.detailed:
		return nil, fmt.Errorf("find details of the speculative plan %s of %s: %w", id, owner, run.ErrNotFound)
	}
	return e, nil
}

// limited keeps the beginning of a text.
type limited struct {
	bytes.Buffer
	limit int
	more  bool
}

func (l *limited) Write(p []byte) (int, error) {
	if keep := min(len(p), l.limit-l.Len()); keep < len(p) {
		l.more = true
		l.Buffer.Write(p[:keep])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

// lines are the complete lines, and one about the others.
func (l *limited) lines() []byte {
	if !l.more {
		return l.Bytes()
	}
	text := l.Bytes()
	return append(text[:bytes.LastIndexByte(text, '\n')+1], "The log is longer: it is not shown here.\n"...)
}
