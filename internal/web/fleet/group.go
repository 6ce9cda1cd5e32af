// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// groupCause groups by the cause of failures and drift.
const groupCause = "cause"

// grouping tells what a stack has in common with others of its group.
type grouping struct {
	key, title string
	of         func(s *find.Stack) string
}

// groupings are the groupings besides those by a label.
var groupings = []grouping{
	{"ns", "namespace", func(s *find.Stack) string { return s.Namespace }},
	{"tenant", "tenant", func(s *find.Stack) string { return s.Facts.Tenant }},
	{"source", "source", func(s *find.Stack) string { return s.Facts.Source }},
	{"status", "state", func(s *find.Stack) string { return string(s.State) }},
	{groupCause, "cause", func(s *find.Stack) string { return s.Facts.Cause }},
}

func knownGroup(key string) bool {
	name, label := strings.CutPrefix(key, labelColumn)
	return label && name != "" && len(name) < 320 || slices.ContainsFunc(groupings, func(g grouping) bool { return g.key == key })
}

// group is a group of stacks, in the order of the list.
type group struct {
	// key is the value that they have in common, title is for people.
	key, title string
	stacks     []find.Stack
	// term finds the group's stacks; empty if no term does.
	term [2]string
}

// groupBy groups stacks. Without a grouping they are one group without a title. The groups are in the
// order of their worst states, then of their titles.
func groupBy(stacks []find.Stack, by string) []group {
	if by == "" {
		return []group{{stacks: stacks}}
	}
	label := strings.TrimPrefix(by, labelColumn)
	of, term := func(s *find.Stack) string { return labelOf(s, label) }, func(key string) [2]string { return [2]string{"label", label + "=" + key} }
	for _, g := range groupings {
		if g.key == by {
			of, term = g.of, func(key string) [2]string { return [2]string{g.key, key} }
		}
	}
	at := map[string]int{}
	var all []group
	for i := range stacks {
		key := of(&stacks[i])
		n, known := at[key]
		if !known {
			n = len(all)
			at[key] = n
			all = append(all, group{key: key, title: cmp.Or(key, "none")})
			if key != "" {
				all[n].term = term(key)
			}
		}
		all[n].stacks = append(all[n].stacks, stacks[i])
	}
	if by == groupCause {
		texts := causesOf(stacks)
		for i := range all {
			if c, ok := texts[all[i].key]; ok {
				all[i].title = strings.TrimSpace(c.Type + " " + c.Text)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b group) int { return cmp.Or(a.worst()-b.worst(), strings.Compare(a.title, b.title)) })
	return all
}

func (g group) worst() int {
	worst := len(standing.States())
	for i := range g.stacks {
		worst = min(worst, g.stacks[i].State.Rank())
	}
	return worst
}

// countStates counts stacks by their states, in the order of states, without those that none has.
func countStates(stacks []find.Stack) []stateCount {
	counts := map[standing.State]int{}
	for i := range stacks {
		counts[stacks[i].State]++
	}
	var all []stateCount
	for _, s := range standing.States() {
		if n := counts[s]; n > 0 {
			all = append(all, stateCount{State: s, N: n})
		}
	}
	return all
}

// stateCount is how many stacks have a state. Address finds them.
type stateCount struct {
	State   standing.State
	N       int
	Address string
}

// cutPage returns the part of the groups that a page shows, by the number of rows before it.
func cutPage(groups []group, skip, most int) []shownGroup {
	var shown []shownGroup
	for _, g := range groups {
		from := min(skip, len(g.stacks))
		skip -= from
		to := min(from+most, len(g.stacks))
		most -= to - from
		if to > from {
			shown = append(shown, shownGroup{group: g, part: g.stacks[from:to], begun: from > 0})
		}
		if most == 0 {
			break
		}
	}
	return shown
}

// shownGroup is the part of a group that a page shows. begun is true if the page before has a part.
type shownGroup struct {
	group
	part  []find.Stack
	begun bool
}

// known is what stacks have, for completion.
func known(stacks []find.Stack) query.Known {
	k := query.Known{Labels: map[string][]string{}}
	labels := map[string]map[string]bool{}
	sets := [3]map[string]bool{{}, {}, {}}
	for i := range stacks {
		s := &stacks[i]
		for j, text := range []string{s.Namespace, s.Facts.Source, s.Facts.Tenant} {
			if text != "" {
				sets[j][text] = true
			}
		}
		for key, value := range s.Labels {
			name := key[strings.LastIndexByte(key, '/')+1:]
			if labels[name] == nil {
				labels[name] = map[string]bool{}
			}
			if len(labels[name]) < 200 {
				labels[name][value] = true
			}
		}
	}
	sorted := func(set map[string]bool) []string {
		var all []string
		for text := range set {
			all = append(all, text)
		}
		slices.Sort(all)
		return all
	}
	k.Namespaces, k.Sources, k.Tenants = sorted(sets[0]), sorted(sets[1]), sorted(sets[2])
	for name, values := range labels {
		k.Labels[name] = sorted(values)
	}
	return k
}
