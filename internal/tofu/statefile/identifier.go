// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"encoding/json"
	"slices"
)

// Identifier returns the provider's name of the resource: its ARN if it has one, else its id; "" if
// that is sensitive.
func (r Resource) Identifier() string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(r.Attributes, &fields) != nil {
		return ""
	}
	for _, name := range []string{"arn", "id"} {
		var text string
		if raw, ok := fields[name]; !ok || json.Unmarshal(raw, &text) != nil || text == "" {
			continue
		}
		if slices.ContainsFunc(r.SensitivePaths, func(path []string) bool { return len(path) == 0 || len(path) == 1 && path[0] == name }) {
			return ""
		}
		return text
	}
	return ""
}
