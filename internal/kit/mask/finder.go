// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import "cmp"

// finder finds all patterns in one pass over a text with an Aho-Corasick automaton. ASCII letters
// match in any case.
//
// The automaton contains only the head of a long pattern; the rest is compared once the head is
// found. So memory grows with the number of secrets and not with their length.
type finder struct {
	nodes []node
	// tables are the children of nodes with many of them.
	tables   [][256]int32
	patterns []pattern
	// also is the index + 1 of the next pattern with the same head, for each pattern.
	also []int32
}

// node is a state: the last bytes are the beginning of a pattern.
type node struct {
	// child is the first child, next its next sibling, key the byte that leads here.
	child, next int32
	key         byte
	// table is the index + 1 of the node's table; zero for none.
	table int32
	// fail is the state of the longest suffix that also begins a pattern.
	fail int32
	// found is the index + 1 of the first pattern whose head ends here; zero for none. also leads
	// to the others.
	found int32
	// more is the next shorter state with patterns.
	more int32
}

const (
	// longestHead is the part of a pattern in the automaton.
	longestHead = 64
	// manyChildren is the number of children from which a node gets a table: first bytes of many
	// secrets vary.
	manyChildren = 12
)

// fold maps letters to lower case.
var fold = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()

func folded(text string) string {
	out := []byte(text)
	for i, c := range out {
		out[i] = fold[c]
	}
	return string(out)
}

func newFinder(patterns []pattern) *finder {
	f := &finder{nodes: make([]node, 1), patterns: patterns, also: make([]int32, len(patterns))}
	for i := range patterns {
		f.insert(int32(i)) //nolint:gosec // there are not that many
	}
	f.link()
	return f
}

func (f *finder) insert(index int32) {
	text := f.patterns[index].text
	at := int32(0)
	for i := range min(len(text), longestHead) {
		key := fold[text[i]]
		next := f.childOf(at, key)
		if next == 0 {
			next = int32(len(f.nodes)) //nolint:gosec // 64 a pattern
			f.nodes = append(f.nodes, node{key: key, next: f.nodes[at].child})
			f.nodes[at].child = next
		}
		at = next
	}
	f.also[index], f.nodes[at].found = f.nodes[at].found, index+1
}

// childOf returns the child of a state; zero, which is never a child, if there is none.
func (f *finder) childOf(at int32, key byte) int32 {
	if t := f.nodes[at].table; t > 0 {
		return f.tables[t-1][key]
	}
	for c := f.nodes[at].child; c > 0; c = f.nodes[c].next {
		if f.nodes[c].key == key {
			return c
		}
	}
	return 0
}

// link sets fail and more of all states, by depth, and creates the tables.
func (f *finder) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		children := 0
		for c := f.nodes[at].child; c > 0; c = f.nodes[c].next {
			children++
			queue = append(queue, c)
			if at > 0 {
				f.nodes[c].fail = f.step(f.nodes[at].fail, f.nodes[c].key)
			}
			end := f.nodes[c].fail
			if f.nodes[end].found == 0 {
				end = f.nodes[end].more
			}
			f.nodes[c].more = end
		}
		if children >= manyChildren || at == 0 {
			f.tabulate(at)
		}
	}
}

func (f *finder) tabulate(at int32) {
	var table [256]int32
	for c := f.nodes[at].child; c > 0; c = f.nodes[c].next {
		table[f.nodes[c].key] = c
	}
	f.tables = append(f.tables, table)
	f.nodes[at].table = int32(len(f.tables)) //nolint:gosec // fewer than nodes
}

// step returns the state after one more folded byte.
func (f *finder) step(at int32, key byte) int32 {
	for {
		if next := f.childOf(at, key); next > 0 || at == 0 {
			return next
		}
		at = f.nodes[at].fail
	}
}

// span is a part of a text.
type span struct{ begin, end int }

// patience limits the bytes compared after heads, for each byte of a text; leastPatience is the
// minimum.
const patience, leastPatience = 8, 16 << 10

// each calls found for every pattern in the text, until it returns false. If a text is designed to
// be slow, with the heads of many long patterns, its rest counts as secret: the cost stays linear.
func (f *finder) each(text []byte, found func(p *pattern, at span) bool) {
	state, left := int32(0), patience*len(text)+leastPatience
	for i, c := range text {
		state = f.step(state, fold[c])
		at := state
		if f.nodes[at].found == 0 {
			at = f.nodes[at].more
		}
		for ; at > 0; at = f.nodes[at].more {
			for _, p := range f.ended(text, i+1, at, &left) {
				if !found(p.pattern, p.at) || left < 0 {
					return
				}
			}
		}
	}
}

// match is a found pattern with its position.
type match struct {
	pattern *pattern
	at      span
}

// ended returns the patterns whose heads end here; of long ones the one that matches furthest.
func (f *finder) ended(text []byte, end int, state int32, left *int) []match {
	var all []match
	longest := -1
	for next := f.nodes[state].found; next > 0; next = f.also[next-1] {
		p := &f.patterns[next-1]
		m := match{p, span{end - min(len(p.text), longestHead), end}}
		if len(p.text) > longestHead {
			m.at.end += common(text[end:], p.text[longestHead:])
			if *left -= m.at.end - end + 1; *left < 0 {
				m.at.end = len(text)
			}
			if longest >= 0 && p.care == anywhere {
				if m.at.end > all[longest].at.end {
					all[longest] = m
				}
				continue
			}
			if p.care == anywhere {
				longest = len(all)
			}
		}
		all = append(all, m)
		if *left < 0 {
			break
		}
	}
	return all
}

// common returns how far a text matches a pattern.
func common(text []byte, pattern string) int {
	n := min(len(text), len(pattern))
	for i := range n {
		if fold[text[i]] != fold[pattern[i]] {
			return i
		}
	}
	return n
}

// compare orders spans by position.
func (s span) compare(other span) int {
	return cmp.Or(cmp.Compare(s.begin, other.begin), cmp.Compare(s.end, other.end))
}
