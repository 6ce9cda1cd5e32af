// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// State is the state of a plan.
type State string

// The states.
const (
	// StatePending: the stack's pending plan, not approved.
	StatePending State = "pending"
	// StateApproved: approved; its apply has not ended.
	StateApproved State = "approved"
	// StateRejected: the pending plan, rejected by a person.
	StateRejected State = "rejected"
	// StateApplied: applied completely.
	StateApplied State = "applied"
	// StateApplyFailed: its apply began and failed.
	StateApplyFailed State = "failed"
	// StateRefused: a webhook refused it.
	StateRefused State = "refused"
	// StateSuperseded: not applied, and no longer the pending plan.
	StateSuperseded State = "superseded"
	// StateUnchanged: without changes.
	StateUnchanged State = "unchanged"
)

// Standing identifies the plan of a document and its state. It changes after the plan was made, so
// it is not stored with the document: the server adds it to each response.
type Standing struct {
	State State `json:"state"`
	// ID is the id to approve. It is empty for a plan that was never approved and is no longer
	// pending.
	ID string `json:"id,omitempty"`
	// Run made the plan at Made, for Revision of the source.
	Run      string    `json:"run"`
	Revision string    `json:"revision,omitempty"`
	Made     time.Time `json:"made,omitzero"`
	// Notices warn about versions of modules that the plan was made with.
	Notices []string `json:"notices,omitempty"`
	// ApplyRun is the run that applied the plan or tried to, until ApplyEnded.
	ApplyRun   string    `json:"applyRun,omitempty"`
	ApplyEnded time.Time `json:"applyEnded,omitzero"`
}

// WithStanding adds a standing to a document that Describe or Nothing made, and leaves the rest
// unchanged. It does not read the rest: documents can have megabytes.
func WithStanding(document []byte, s Standing) ([]byte, error) {
	document = bytes.TrimSpace(document)
	if len(document) < 2 || document[0] != '{' || document[len(document)-1] != '}' {
		return nil, errors.New("read the readable plan: it is not a JSON object")
	}
	standing, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the state of the plan: %w", err)
	}
	fields := bytes.TrimRight(document[:len(document)-1], " \t\r\n")
	out := make([]byte, 0, len(document)+len(standing)+len(`,"standing":`))
	out = append(out, fields...)
	if len(fields) > 1 {
		out = append(out, ',')
	}
	out = append(append(out, `"standing":`...), standing...)
	return append(out, '}'), nil
}
