// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	spec := map[string]any{"n": int64(9007199254740993), "f": 1.5, "on": true, "none": nil, "list": []any{"a", int64(1)}, "map": map[string]any{"k": []any{}}}
	for text, want := range map[string]any{
		"spec.n":                         int64(9007199254740993),
		"spec.f":                         1.5,
		"spec.on":                        true,
		"spec.none":                      nil,
		"spec.list":                      []any{"a", int64(1)},
		"spec.map":                       map[string]any{"k": []any{}},
		"spec.n > 3 ? 'large' : 'small'": "large",
		"{'a': dyn(spec.n), 'b': dyn([spec.on])}": map[string]any{"a": int64(9007199254740993), "b": []any{true}},
	} {
		e, err := NewValue(text, "spec")
		if err != nil {
			t.Fatal(err)
		}
		got, some, err := e.Value(t.Context(), map[string]any{"spec": spec})
		if diff := cmp.Diff(want, got); diff != "" || !some || err != nil {
			t.Errorf("%s: %v %v %s", text, some, err, diff)
		}
	}
	for text, want := range map[string]string{
		"spec.missing":     "no such key",
		"{1: 2}":           "keys are texts",
		"duration('1s')":   "which JSON does not have",
		"spec.?n.orValue(": "failed to parse",
		"unknown":          "undeclared reference",
		"b'bytes'":         "which JSON does not have",
		chained(15, "[dyn(1)]", "[dyn(x), dyn(x)]"): "its value has more than",
	} {
		e, err := NewValue(text, "spec")
		if err == nil {
			_, _, err = e.Value(t.Context(), map[string]any{"spec": spec})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.300v, want %s", text, err, want)
		}
	}
	e, err := NewValue("spec.?missing", "spec")
	if err != nil {
		t.Fatal(err)
	}
	if _, some, err := e.Value(t.Context(), map[string]any{"spec": spec}); some || err != nil {
		t.Errorf("an optional without value: %v %v", some, err)
	}
}
