// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"context"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// read completes the answer about a plan that has ended, and reads its planned outputs.
func (d *Desk) read(ctx context.Context, e *entry, rec run.Record) (Answer, *Planned) {
	d.mu.Lock()
	answer := e.answer
	d.mu.Unlock()
	result := rec.Result
	answer.Ended, answer.Outcome, answer.Error, answer.Replaced = true, result.Outcome, result.Error, result.Replaced
	answer.Took = took(rec)
	failed := func(why string) (Answer, *Planned) {
		answer.Outcome, answer.Error = run.OutcomeFailed, why
		return answer, nil
	}
	switch {
	case result.Outcome != run.OutcomeSucceeded || result.Plan == nil:
		return answer, nil
	case rec.Spec.Replace != nil && result.Replaced == 0:
		return failed("the program as it is now does not call the module, or not with a source that can be replaced")
	}
	planned, err := d.readOutputs(ctx, e, rec)
	if err != nil {
		return failed("read the planned outputs: " + err.Error())
	}
	answer.ChangesDigest = result.Plan.ChangesDigest
	answer.Contracts = d.judgeContracts(ctx, e, rec, planned)
	if !result.Plan.Changes {
		return answer, planned
	}
	answer.Counts = result.Plan.Counts
	document, err := d.Executor.ReadPlan(ctx, rec.Spec.Stack, rec.Spec.ID)
	var made *plan.Plan
	if err == nil {
		made, err = plan.Decode(document)
	}
	if err != nil {
		return failed("read the plan: " + err.Error())
	}
	answer.Changes, answer.Outputs = Words(made), made.Outputs
	return answer, planned
}

func (d *Desk) readOutputs(ctx context.Context, e *entry, rec run.Record) (*Planned, error) {
	document := []byte("{}")
	if len(rec.Spec.PlanOutputs) > 0 {
		var err error
		if document, err = d.Executor.ReadPart(ctx, rec.Spec.Stack, rec.Spec.ID, run.BlobPlanOutputs); err != nil {
			return nil, err
		}
	}
	secrets := rec.Spec.KnownSecrets()
	for _, value := range rec.Spec.Backend.Settings {
		secrets.Add(value)
	}
	return ReadPlanned(e.owner, document, secrets.Masker(inputs.Mask))
}
