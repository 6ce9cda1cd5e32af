// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"context"
	"fmt"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// The outcomes of a check against a contract.
const (
	ContractFits    = "Fits"
	ContractBreaks  = "Breaks"
	ContractUnknown = "Unknown"
)

// Contract is what a speculative plan does to a contract that its stack publishes.
type Contract struct {
	Name string `json:"name"`
	// Outcome is Fits, Breaks or Unknown, Message says it for people.
	Outcome string `json:"outcome"`
	Message string `json:"message,omitempty"`
	// Broken are the consumers that the plan breaks, one entry for each path that they read; some, if
	// there are many.
	Broken []Harm `json:"broken,omitempty"`
}

// Harm is what a plan does to a consumer of a contract.
type Harm struct {
	// Consumer is NAMESPACE/NAME, Version the range that it reads.
	Consumer string `json:"consumer"`
	Version  string `json:"version,omitempty"`
	// Path begins with the contract's name. Says goes on after "CONSUMER reads PATH, which".
	Path string `json:"path"`
	Says string `json:"says"`
}

func (h Harm) String() string { return "it reads " + h.Path + ", which " + h.Says }

// judgeContracts checks the planned outputs against the contracts of the stack. A failure is not a
// result: the plan says that it was not checked.
func (d *Desk) judgeContracts(ctx context.Context, e *entry, rec run.Record, planned *Planned) []Contract {
	if d.Contracts == nil || planned == nil {
		return nil
	}
	d.mu.Lock()
	manifest := e.manifest
	d.mu.Unlock()
	list, err := d.Contracts(ctx, e.owner, manifest, planned, rec.Spec.Destroy)
	if err != nil {
		d.Log.Warn("cannot check a speculative plan against contracts", "stack", e.owner.String(), "error", err)
		return []Contract{{Outcome: ContractUnknown, Message: fmt.Sprintf("the plan was not checked against the contracts of %s: %v", e.owner, err)}}
	}
	return list
}
