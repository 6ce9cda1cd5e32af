// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"fmt"
)

// ParsePrinted parses the output of `tofu output -json`, for states that only tofu can read. It
// keeps the exact bytes of values and types.
func ParsePrinted(document []byte) (map[string]PrintedOutput, error) {
	var entries map[string]printed
	if err := json.Unmarshal(document, &entries); err != nil {
		return nil, fmt.Errorf("read the printed outputs: %w", withoutContent(err))
	}
	all := make(map[string]PrintedOutput, len(entries))
	for name, entry := range entries {
		output := PrintedOutput{Value: entry.Value, Type: entry.Type, Sensitive: entry.Sensitive}
		var text string
		if string(entry.Type) == `"string"` && json.Unmarshal(entry.Value, &text) == nil && string(entry.Value) != "null" {
			output.Value, output.IsString = []byte(text), true
		}
		all[name] = output
	}
	return all, nil
}
