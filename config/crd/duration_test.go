// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// One object with a duration that Go cannot decode would keep every reader of the list from reading any of it. So
// whatever the definition lets pass must decode.
func TestEveryDurationThatPassesDecodes(t *testing.T) {
	d := load(t, terraforms)
	spec := d.schema.Properties["spec"]
	durations := []string{"interval", "retryInterval", "maxRetryInterval", "driftDetectionInterval"}
	pattern := spec.Properties["interval"].ValueValidation.Pattern
	for _, name := range durations {
		if got := spec.Properties[name].ValueValidation.Pattern; got != pattern {
			t.Errorf("spec.%s has the pattern %q, want %q", name, got, pattern)
		}
	}
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatalf("%v", err)
		}
		var duration metav1.Duration
		if err := json.Unmarshal(quoted, &duration); err != nil {
			t.Fatalf("%q passes and does not decode: %v", text, err)
		}
		if duration.Duration < 0 {
			t.Fatalf("%q decodes to %v", text, duration.Duration)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(pattern).Filter(func(s string) bool { return len([]rune(s)) <= 20 }).Draw(t, "duration")
		check(t, text)
	})
	for _, largest := range []string{"999999h999999h99999h", "9999999m9999999m999m", "999999999s9999999.9s"} {
		if !d.passes(t, largest) {
			t.Errorf("%q does not pass", largest)
		}
		check(t, largest)
	}
}

// passes tells whether the definition takes a text as an interval.
func (d definition) passes(t *testing.T, interval string) bool {
	t.Helper()
	_, errs := d.admit(t, map[string]any{
		"metadata": map[string]any{"name": "a", "namespace": "b"},
		"spec":     map[string]any{"interval": interval},
	})
	return len(errs) == 0
}
