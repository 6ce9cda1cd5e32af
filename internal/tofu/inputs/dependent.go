// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"maps"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// secretTextsOf are those texts of rendered values that may tell something about the closed data: they come out differently when that
// is different. All are, where nothing of the data is known to be open, or where the templates fail with other data.
func secretTextsOf(raw []byte, rendered []string, data, closed map[string]any) []string {
	if len(closed) == 0 {
		return nil
	}
	if everythingClosed(data, closed) {
		return rendered
	}
	var others [][]string
	for by := range 2 {
		other, err := template.Document("spec.values", raw, altered(data, closed, by+1))
		if err != nil || len(other.Strings) != len(rendered) {
			return rendered
		}
		others = append(others, other.Strings)
	}
	var texts []string
	for i, text := range rendered {
		if others[0][i] != text || others[1][i] != text {
			texts = append(texts, text)
		}
	}
	return texts
}

func everythingClosed(data, closed map[string]any) bool {
	for name, keys := range data {
		some, _ := closed[name].(map[string]any)
		if all, _ := keys.(map[string]any); len(all) != len(some) {
			return false
		}
	}
	return true
}

// altered is the data of templates with other values in the place of the closed ones.
func altered(data, closed map[string]any, by int) map[string]any {
	out := map[string]any{}
	for name, keys := range data {
		all, _ := keys.(map[string]any)
		with := maps.Clone(all)
		some, _ := closed[name].(map[string]any)
		for key, value := range some {
			with[key] = alter(value, by)
		}
		out[name] = with
	}
	return out
}

// alter makes another value of the same kind. Each of the two is nothing like the closed one: neither its characters nor its
// length, so that what is made of a length, or of punctuation only, comes out differently, too.
func alter(value any, by int) any {
	switch v := value.(type) {
	case string:
		return alterText(v, by)
	case float64:
		return -2*v - float64(by)
	case bool:
		return !v
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = alter(item, by)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[alterText(name, by)] = alter(item, by)
		}
		return out
	}
	return alterText("", by) // templates that want another kind fail, and nothing is open then
}

// alterText makes a text that is longer than any that people compare lengths with, or as short as one can be.
func alterText(text string, by int) string {
	if by == 1 {
		return strings.Repeat("q7", len(text)/2+64)
	}
	return "Z"
}
