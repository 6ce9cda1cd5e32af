// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
)

// Outline is a plan whose values are not read yet: a page shows few of thousands.
type Outline struct {
	// Plan has everything but the values of Changes and Drift.
	*Plan
	changes, drift []rawValues
}

// rawValues are the values of a change as the document has them.
type rawValues struct{ before, after json.RawMessage }

// outlinedChange and outlinedPlan leave values as they are: the outer fields hide the inner ones.
type outlinedChange struct {
	ResourceChange
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

type outlinedPlan struct {
	Plan
	Changes []outlinedChange `json:"changes"`
	Drift   []outlinedChange `json:"drift"`
}

// DecodeOutline parses a document that Describe made, without its values.
func DecodeOutline(document []byte) (*Outline, error) {
	var p outlinedPlan
	if err := json.Unmarshal(document, &p); err != nil {
		return nil, fmt.Errorf("read the readable plan: %w", err)
	}
	if p.Version != documentVersion {
		return nil, fmt.Errorf("read the readable plan: its version is %d, this Yuba reads %d", p.Version, documentVersion)
	}
	o := &Outline{Plan: &p.Plan}
	o.Plan.Changes, o.changes = outlined(p.Changes)
	o.Plan.Drift, o.drift = outlined(p.Drift)
	return o, nil
}

func outlined(all []outlinedChange) ([]ResourceChange, []rawValues) {
	changes, values := make([]ResourceChange, 0, len(all)), make([]rawValues, 0, len(all))
	for i := range all {
		changes = append(changes, all[i].ResourceChange)
		values = append(values, rawValues{all[i].Before, all[i].After})
	}
	return changes, values
}

// Change returns a change with its values, by its index in Changes.
func (o *Outline) Change(i int) (ResourceChange, error) { return o.changes[i].of(o.Changes[i]) }

// Drifted returns a change outside of the stack with its values, by its index in Drift.
func (o *Outline) Drifted(i int) (ResourceChange, error) { return o.drift[i].of(o.Drift[i]) }

func (v rawValues) of(c ResourceChange) (ResourceChange, error) {
	for raw, into := range map[*json.RawMessage]*Value{&v.before: &c.Before, &v.after: &c.After} {
		if len(*raw) == 0 {
			continue
		}
		if err := into.UnmarshalJSON(*raw); err != nil {
			return c, fmt.Errorf("read the values of %s: %w", c.Address, err)
		}
	}
	return c, nil
}
