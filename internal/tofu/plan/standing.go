// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"time"
)

// State is what has become of a plan.
type State string

// The states of plans.
const (
	// StatePending: it is the stack's pending plan, and not approved.
	StatePending State = "pending"
	// StateApproved: its apply has not ended.
	StateApproved State = "approved"
	// StateRejected: it is the pending plan, and a person rejected it.
	StateRejected State = "rejected"
	// StateApplied: it was applied to its end.
	StateApplied State = "applied"
	// StateApplyFailed: its apply began and did not get to its end.
	StateApplyFailed State = "failed"
	// StateRefused: a webhook did not let it pass.
	StateRefused State = "refused"
	// StateSuperseded: it was not applied, and is not the pending plan any more.
	StateSuperseded State = "superseded"
	// StateUnchanged: it found nothing to do.
	StateUnchanged State = "unchanged"
)

// Standing says which plan a document describes and what has become of it. It changes after the plan was made, so it is not kept with
// the document: the server adds it to each answer.
type Standing struct {
	State State `json:"state"`
	// ID is what people approve. It is empty for a plan that was never approved and is not pending any more.
	ID string `json:"id,omitempty"`
	// Run made the plan at Made, for Revision of the source.
	Run      string    `json:"run"`
	Revision string    `json:"revision,omitempty"`
	Made     time.Time `json:"made,omitzero"`
	// ApplyRun is the run that applied the plan or tried to; it ended at ApplyEnded.
	ApplyRun   string    `json:"applyRun,omitempty"`
	ApplyEnded time.Time `json:"applyEnded,omitzero"`
}

// WithStanding adds a standing to a document. Everything else in the document stays as it is.
func WithStanding(document []byte, s Standing) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, fmt.Errorf("read the readable plan: %w", err)
	}
	standing, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write what has become of the plan: %w", err)
	}
	fields["standing"] = standing
	return json.Marshal(fields)
}
