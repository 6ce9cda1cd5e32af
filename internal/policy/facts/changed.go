// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"maps"
	"slices"
)

// MaxChanged limits the changed attributes of one change.
const MaxChanged = 100

// differences returns the attributes that differ, or may differ because they are unknown: names of
// the top level, and of objects one level below them.
func differences(before, after, unknown any) (changed []string, omitted int) {
	was, _ := before.(map[string]any)
	is, _ := after.(map[string]any)
	if was == nil && is == nil && !marked(unknown) {
		return nil, 0
	}
	add := func(name string) {
		if len(changed) >= MaxChanged {
			omitted++
			return
		}
		changed = append(changed, name)
	}
	for _, name := range union(was, is, unknown) {
		mark := markOf(unknown, name)
		if equal(was[name], is[name]) && !marked(mark) {
			continue
		}
		inner, hadObject := was[name].(map[string]any)
		next, hasObject := is[name].(map[string]any)
		if !hadObject || !hasObject || mark == true {
			add(name)
			continue
		}
		for _, key := range union(inner, next, mark) {
			if !equal(inner[key], next[key]) || marked(markOf(mark, key)) {
				add(name + "." + key)
			}
		}
	}
	return changed, omitted
}

// union returns the keys of both sides and of the unknown attributes, sorted.
func union(was, is map[string]any, unknown any) []string {
	all := names(is, unknown)
	marks, _ := unknown.(map[string]any)
	for key := range was {
		if _, there := is[key]; !there && !marked(marks[key]) {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

// equal compares decoded JSON. An attribute that is not there equals null.
func equal(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equal)
	case json.Number:
		y, ok := b.(json.Number)
		return ok && x == y
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}
