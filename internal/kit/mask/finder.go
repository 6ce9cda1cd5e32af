// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import "cmp"

// finder finds all patterns in one pass over a text: an automaton of Aho and Corasick. Letters of ASCII have no case.
//
// Of a long pattern the automaton has the head alone; how far the text goes on like the pattern is compared once the head is found.
// So what a run needs of memory grows with the number of its secrets and not with their length.
type finder struct {
	nodes []node
	// tables have the children of nodes with many.
	tables   [][256]int32
	patterns []pattern
	// also is one more than the index of the next pattern with the same head, by that of the pattern.
	also []int32
}

// node is a state: what was read last is the beginning of some pattern.
type node struct {
	// child is the first child, next its next sibling, key the byte that leads here.
	child, next int32
	key         byte
	// table is one more than the index of the node's table; zero for none.
	table int32
	// fail is the state of the longest end of this one that begins a pattern, too.
	fail int32
	// found is one more than the index of the first pattern whose head ends here; the others are behind it. Zero is none.
	found int32
	// more is the next shorter state with any.
	more int32
}

const (
	// longestHead is what the automaton has of a pattern.
	longestHead = 64
	// manyChildren get a table: the first bytes of many secrets are any.
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

// childOf is the state behind another one; zero, which is nobody's child, when there is none.
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

// link sets fail and more of all states, the shallow ones first, and makes the tables.
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

// step is the state after one more byte, which is folded.
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

// patience is how many bytes behind the heads of patterns are compared for each byte of a text, and at least.
const patience, leastPatience = 8, 16 << 10

// each calls found for every pattern in the text, until that returns false. A text that is made to take long, by the heads of many
// long patterns, is taken for a secret from there to its end: the cost stays linear.
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

// match is a pattern that was found, and where.
type match struct {
	pattern *pattern
	at      span
}

// ended are the patterns whose head ends there, by the state: the long ones among them by the one that goes on longest.
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

// common is how far a text goes on like a pattern.
func common(text []byte, pattern string) int {
	n := min(len(text), len(pattern))
	for i := range n {
		if fold[text[i]] != fold[pattern[i]] {
			return i
		}
	}
	return n
}

// compare puts spans in the order of a text.
func (s span) compare(other span) int {
	return cmp.Or(cmp.Compare(s.begin, other.begin), cmp.Compare(s.end, other.end))
}
