// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// levelsOf writes levels as "a b | c".
func levelsOf(text string) (levels [][]impact.Reached) {
	for level := range strings.SplitSeq(text, " | ") {
		var list []impact.Reached
		for name := range strings.FieldsSeq(level) {
			list = append(list, impact.Reached{Stack: name})
		}
		levels = append(levels, list)
	}
	return levels
}

func TestLevelsAreTakenInTurn(t *testing.T) {
	done := map[string]bool{}
	for _, turn := range []struct{ levels, want string }{
		{"a b | c d | e", "a b"},
		{"a b | c d | e", "c d"},
		{"a b | c | e d", "e"},     // d is done, although it has moved
		{"a | b x | c d | e", "x"}, // it was hidden behind a stack that was thought to rest
		{"a | b x | c d | e", ""},
	} {
		var got []string
		for _, r := range nextLevel(levelsOf(turn.levels), done) {
			got = append(got, r.Stack)
		}
		if strings.Join(got, " ") != turn.want {
			t.Errorf("%s: got %q, want %q", turn.levels, got, turn.want)
		}
	}
}

func TestAStackWaitsForThoseItReadsFrom(t *testing.T) {
	plans := impact.Plans{"a": {}, "b": {}}
	for from, want := range map[string][]speculative.Need{
		"a b":   nil,
		"a c":   {{Stack: "c", Input: "what c outputs"}},
		"c a d": {{Stack: "c", Input: "what c outputs"}, {Stack: "d", Input: "what d outputs"}},
	} {
		got := blockedBy(impact.Reached{From: strings.Fields(from)}, plans)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", from, diff)
		}
	}
}
