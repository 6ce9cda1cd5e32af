// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"maps"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// secretTextsOf returns the rendered texts that differ if closed data does. It returns all texts if
// no data is known to be open, or if the templates fail with other data.
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

// altered returns the templates' data with other values instead of the closed ones.
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

// alter returns another value of the same kind. Both alternatives differ from the closed value in
// characters and length, so that texts made from a length, or only of punctuation, differ, too.
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
	return alterText("", by) // templates that expect another kind fail, and then nothing counts as open
}

// alterText returns a text that is longer than any length that people compare with, or as short as
// possible.
func alterText(text string, by int) string {
	if by == 1 {
		return strings.Repeat("q7", len(text)/2+64)
	}
	return "Z"
}
