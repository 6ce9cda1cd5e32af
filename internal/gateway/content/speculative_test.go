// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import "testing"

func TestTheNameOfASpeculativePlan(t *testing.T) {
	for text, want := range map[string]PlanOf{
		"team/net@20261127-1": {"team", "net", "20261127-1"}, "team/net@a@b": {"team", "net", "a@b"},
		"": {}, "net@1": {}, "team/net": {}, "team/@1": {}, "/net@1": {}, "team/net@": {},
	} {
		got, err := parsePlanOf(text)
		if got != want || (err == nil) != (want != PlanOf{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if err == nil && got.String() != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}
