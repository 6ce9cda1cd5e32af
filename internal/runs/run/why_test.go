// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "testing"

func TestChangedInputsInWords(t *testing.T) {
	for want, c := range map[string]InputChange{
		"variable size: 1 -> 2, from spec.vars": {Part: "variable", Name: "size", From: "1", To: "2", Origin: "spec.vars"},
		"variable key: changed (secret)":        {Part: "variable", Name: "key", Secret: true},
		"environment A: now x":                  {Part: "environment", Name: "A", To: "x"},
		"targets: gone, was a.b":                {Part: "targets", From: "a.b"},
		"source: main@sha1:0123456789 -> main@sha1:89abcdef01 (no file that the stack reads)": {Part: "source", From: "main@sha1:0123456789ab", To: "main@sha1:89abcdef0123", Untouched: true},
	} {
		if got := c.InWords(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
