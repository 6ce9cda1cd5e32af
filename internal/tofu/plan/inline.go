// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Inline is the value on one line, as in a configuration. It has control characters as escapes.
func (v Value) Inline() string {
	switch v.kind {
	case Null:
		return "null"
	case Bool, Number:
		return diagnostic.Printable(v.text)
	case Text:
		return strconv.Quote(v.text)
	case Unknown:
		return "(known after apply)"
	case Sensitive:
		return "(sensitive value)"
	case List:
		parts := make([]string, 0, len(v.list))
		for _, element := range v.list {
			parts = append(parts, element.Inline())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	parts := make([]string, 0, len(v.object))
	for _, name := range keys(v.object) {
		parts = append(parts, key(name)+" = "+v.object[name].Inline())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
