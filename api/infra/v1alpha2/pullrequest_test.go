// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import "testing"

// TestAnAnnotationDoesNotChooseASource: a hold counts only with a GitRepository that the planner made.
func TestAnAnnotationDoesNotChooseASource(t *testing.T) {
	h := &PullRequestHold{Planner: "uid", Commit: "c0ffee", Source: "infra-pull-c0ffee"}
	const url = "https://git.example.com/infra"
	for what, c := range map[string]struct {
		label, url, commit string
		want               bool
	}{
		"made by the planner":         {"uid", url, "c0ffee", true},
		"without the label":           {"", url, "c0ffee", false},
		"of another planner":          {"other", url, "c0ffee", false},
		"of another repository":       {"uid", "https://git.example.com/evil", "c0ffee", false},
		"of another commit":           {"uid", url, "bad", false},
		"that follows a whole branch": {"uid", url, "", false},
	} {
		if got := h.Made(c.label, c.url, c.commit, url); got != c.want {
			t.Errorf("a GitRepository %s: %v", what, got)
		}
	}
	if (&PullRequestHold{Commit: "c0ffee"}).Made("", url, "c0ffee", url) {
		t.Error("a hold without a planner fits a GitRepository without a label")
	}
}
