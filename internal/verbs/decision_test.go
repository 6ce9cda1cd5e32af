// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"strings"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestDecided(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	note := func(verdict string) string {
		c, err := Change{}.Decide(Decision{Plan: "p", Verdict: verdict, By: "ada", At: now, Comment: " fine\x1b "})
		if err != nil {
			t.Fatal(err)
		}
		return c.Metadata["annotations"].(map[string]any)[infrav1.AnnotationDecision].(string)
	}
	for sentence, test := range map[string]struct {
		annotations    map[string]string
		named, applied string
		want           string
	}{
		"nobody has":                      {nil, "", "", ""},
		"another plan":                    {nil, "q", "q", ""},
		"approved in a manifest":          {nil, "p", "", "plan p is approved already"},
		"approved on the page":            {map[string]string{infrav1.AnnotationDecision: note(Approved)}, "p", "", "plan p is approved already: ada has approved it at 05:06:07 UTC on 2026-03-04 (fine"},
		"approved, held by a breaker":     {map[string]string{infrav1.AnnotationApproved: "p"}, "auto", "", "plan p is approved already"},
		"rejected":                        {map[string]string{infrav1.AnnotationRejected: "p", infrav1.AnnotationDecision: note(Rejected)}, "", "", "plan p is rejected already: ada has rejected it"},
		"rejected, and the note is older": {map[string]string{infrav1.AnnotationRejected: "p", infrav1.AnnotationDecision: note(Approved)}, "", "", "plan p is rejected already"},
		"applied":                         {map[string]string{infrav1.AnnotationDecision: note(Approved)}, "p", "p", "plan p is applied already: ada has approved it"},
		"a note that is not one":          {map[string]string{infrav1.AnnotationDecision: "{"}, "p", "", "plan p is approved already"},
		"a note alone decides nothing":    {map[string]string{infrav1.AnnotationDecision: note(Approved)}, "", "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			stack := &infrav1.Terraform{}
			stack.Annotations, stack.Spec.ApprovePlan, stack.Status.Plan.LastApplied = test.annotations, test.named, test.applied
			got := Decided(stack, "p")
			if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" || strings.Contains(got, "\x1b") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestADecisionKeepsTheOtherAnnotations(t *testing.T) {
	before := Change{}.Annotate(map[string]any{infrav1.AnnotationRejected: "p"})
	after, err := before.Decide(Decision{Plan: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if got := after.Metadata["annotations"].(map[string]any); len(got) != 2 || got[infrav1.AnnotationRejected] != "p" {
		t.Errorf("%v", got)
	}
	if got := before.Metadata["annotations"].(map[string]any); len(got) != 1 {
		t.Errorf("the change itself has changed: %v", got)
	}
	if got := []rune(Comment(strings.Repeat("ü", 5000))); len(got) != MaxComment {
		t.Errorf("a comment of %d characters", len(got))
	}
}
