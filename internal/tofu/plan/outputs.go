// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"errors"
	"fmt"
)

// OutputChanges returns the planned changes of outputs from `tofu show -json` of a saved plan: an object with
// the names that the plan has. They are not redacted.
func OutputChanges(show []byte, names []string) ([]byte, error) {
	var plan struct {
		Changes map[string]json.RawMessage `json:"output_changes"`
	}
	if json.Unmarshal(show, &plan) != nil { // its error may quote a value
		return nil, errors.New("read the planned outputs: the tool's description of the plan is not valid JSON")
	}
	found := map[string]json.RawMessage{}
	for _, name := range names {
		if change, ok := plan.Changes[name]; ok {
			found[name] = change
		}
	}
	text, err := json.Marshal(found)
	if err != nil {
		return nil, fmt.Errorf("write the planned outputs: %w", err)
	}
	return text, nil
}
