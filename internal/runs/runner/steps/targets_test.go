// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"slices"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// TestTargetsOfARefresh: the plan of a preview and the apply get the same targets.
func TestTargetsOfARefresh(t *testing.T) {
	refresh := func(args ...string) *run.StateChange { return &run.StateChange{Verb: run.StateRefresh, Args: args} }
	for sentence, test := range map[string]struct {
		change *run.StateChange
		want   []string
	}{
		"a plan has those of the stack":          {nil, []string{"-target=a.b"}},
		"so has a refresh":                       {refresh(), []string{"-target=a.b"}},
		"a refresh of addresses has only those":  {refresh("c.d", "e.f"), []string{"-target=c.d", "-target=e.f"}},
		"addresses of other changes are no such": {&run.StateChange{Verb: run.StateRollback, Args: []string{"1"}}, []string{"-target=a.b"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := targetArgs(&run.Spec{Targets: []string{"a.b"}, StateChange: test.change}); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
