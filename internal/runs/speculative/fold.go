// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"cmp"
	"slices"
	"strings"
)

// Group are the stacks with equal plans.
type Group struct {
	Result string `json:"result"`
	// Stacks are NAMESPACE/NAME, sorted.
	Stacks []string `json:"stacks"`
	// Changes are those of the plans. Error and Needs are why there is none.
	Changes []string `json:"changes,omitempty"`
	Error   string   `json:"error,omitempty"`
	Needs   []Need   `json:"needs,omitempty"`
}

// order is the order of results: first what changes nothing.
var order = []string{ResultUnchanged, ResultChanges, ResultUnknown, ResultFailed, ResultCanceled}

// Fold puts equal plans together: those with the same normalised changes, or the same reason for
// having none. First come those without changes, then the most frequent ones of each result. The
// order of the answers does not matter.
func Fold(answers []Answer) []Group {
	sorted := slices.Clone(answers)
	slices.SortFunc(sorted, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	groups := []Group{}
	at := map[string]int{}
	for i := range sorted {
		g := groupOf(&sorted[i])
		key := g.key()
		if _, known := at[key]; !known {
			at[key] = len(groups)
			groups = append(groups, g)
		}
		group := &groups[at[key]]
		group.Stacks = append(group.Stacks, sorted[i].Stack())
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Or(slices.Index(order, a.Result)-slices.Index(order, b.Result), len(b.Stacks)-len(a.Stacks))
	})
	return groups
}

func groupOf(a *Answer) Group {
	g := Group{Result: a.Result()}
	switch g.Result {
	case ResultFailed:
		g.Error = strings.TrimSpace(a.Error)
	case ResultUnknown:
		g.Needs = a.Needs
	case ResultChanges:
		g.Changes = a.Changes
	}
	return g
}

func (g *Group) key() string {
	parts := []string{g.Result, g.Error}
	for _, n := range g.Needs {
		parts = append(parts, n.Stack+"\x00"+n.Input)
	}
	return strings.Join(append(parts, g.Changes...), "\n")
}
