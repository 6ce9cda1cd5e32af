// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

func planned(name string, changes ...string) speculative.Answer {
	return speculative.Answer{Namespace: "ns", Name: name, Ended: true, Outcome: run.OutcomeSucceeded, Changes: changes}
}

func failed(name, why string) speculative.Answer {
	return speculative.Answer{Namespace: "ns", Name: name, Ended: true, Outcome: run.OutcomeFailed, Error: why}
}

func unknown(name string, needs ...speculative.Need) speculative.Answer {
	return speculative.Answer{Namespace: "ns", Name: name, Ended: true, Needs: needs}
}

func TestFold(t *testing.T) {
	id, cidr := speculative.Need{Stack: "ns/net", Input: "output id"}, speculative.Need{Stack: "ns/net", Input: "output cidr"}
	for sentence, test := range map[string]struct {
		answers []speculative.Answer
		want    []speculative.Group
	}{
		"nothing": {nil, []speculative.Group{}},
		"equal changes are one group, the larger one comes first": {
			[]speculative.Answer{planned("d", "+1 a"), planned("c", "+1 b"), planned("b", "+1 b"), planned("a", "+1 b", "-1 c")},
			[]speculative.Group{{Result: "changes", Stacks: []string{"ns/b", "ns/c"}, Changes: []string{"+1 b"}},
				{Result: "changes", Stacks: []string{"ns/a"}, Changes: []string{"+1 b", "-1 c"}},
				{Result: "changes", Stacks: []string{"ns/d"}, Changes: []string{"+1 a"}}}},
		"failures are together if the reason is the same": {
			[]speculative.Answer{failed("a", "no\n"), failed("b", "no"), failed("c", "never"), planned("d")},
			[]speculative.Group{{Result: "no changes", Stacks: []string{"ns/d"}}, {Result: "failed", Stacks: []string{"ns/a", "ns/b"}, Error: "no"},
				{Result: "failed", Stacks: []string{"ns/c"}, Error: "never"}}},
		"so are stacks that wait for the same": {
			[]speculative.Answer{unknown("a", id), unknown("b", id, cidr), unknown("c", id)},
			[]speculative.Group{{Result: "unknown", Stacks: []string{"ns/a", "ns/c"}, Needs: []speculative.Need{id}},
				{Result: "unknown", Stacks: []string{"ns/b"}, Needs: []speculative.Need{id, cidr}}}},
		"a cancelled plan is not a failed one": {
			[]speculative.Answer{{Namespace: "ns", Name: "a", Ended: true, Outcome: run.OutcomeCanceled}, failed("b", "")},
			[]speculative.Group{{Result: "failed", Stacks: []string{"ns/b"}}, {Result: "canceled", Stacks: []string{"ns/a"}}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			for range 5 {
				rand.Shuffle(len(test.answers), func(i, k int) { test.answers[i], test.answers[k] = test.answers[k], test.answers[i] })
				if diff := cmp.Diff(test.want, speculative.Fold(test.answers)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
