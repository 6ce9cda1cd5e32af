// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Comparing lists element by element costs the product of their lengths; longer lists are compared
// by position.
const maxComparisons = 250_000

// step is one step from one list to another.
type step struct {
	op            op
	before, after int // indexes; -1 for none
}

// align finds a shortest edit sequence from n elements to m elements.
func align(n, m int, equal func(i, j int) bool) []step {
	var steps []step
	start := 0
	for start < n && start < m && equal(start, start) {
		steps = append(steps, step{same, start, start})
		start++
	}
	end := 0
	for end < n-start && end < m-start && equal(n-1-end, m-1-end) {
		end++
	}
	steps = append(steps, alignMiddle(start, n-end, m-end, equal)...)
	for ; end > 0; end-- {
		steps = append(steps, step{same, n - end, m - end})
	}
	return steps
}

func alignMiddle(start, n, m int, equal func(i, j int) bool) []step {
	rows, columns := n-start, m-start
	var steps []step
	i, j := start, start
	if rows*columns <= maxComparisons {
		// length[r][c] is the length of the longest common subsequence of the rest.
		length := make([][]int, rows+1)
		for r := range length {
			length[r] = make([]int, columns+1)
		}
		for r := rows - 1; r >= 0; r-- {
			for c := columns - 1; c >= 0; c-- {
				if equal(start+r, start+c) {
					length[r][c] = length[r+1][c+1] + 1
				} else {
					length[r][c] = max(length[r+1][c], length[r][c+1])
				}
			}
		}
		for i < n && j < m {
			switch {
			case equal(i, j):
				steps = append(steps, step{same, i, j})
				i, j = i+1, j+1
			case length[i-start+1][j-start] >= length[i-start][j-start+1]:
				steps = append(steps, step{removed, i, -1})
				i++
			default:
				steps = append(steps, step{added, -1, j})
				j++
			}
		}
	}
	for ; i < n; i++ {
		steps = append(steps, step{removed, i, -1})
	}
	for ; j < m; j++ {
		steps = append(steps, step{added, -1, j})
	}
	return steps
}

// merge joins a removed and an added object at the same position to one changed element.
func merge(steps []step, alike func(i, j int) bool) []step {
	var out []step
	for at := 0; at < len(steps); {
		end := at
		var gone, come []step
		for ; end < len(steps) && steps[end].op != same; end++ {
			if steps[end].op == removed {
				gone = append(gone, steps[end])
			} else {
				come = append(come, steps[end])
			}
		}
		if end == at {
			out = append(out, steps[at])
			at++
			continue
		}
		for len(gone) > 0 && len(come) > 0 && alike(gone[0].before, come[0].after) {
			out = append(out, step{changed, gone[0].before, come[0].after})
			gone, come = gone[1:], come[1:]
		}
		out = append(append(out, gone...), come...)
		at = end
	}
	return out
}

// elements writes the difference of two lists, with one unchanged element on each side of a change.
func (d *differ) elements(before, after []Value, indent string, path []any) {
	steps := align(len(before), len(after), func(i, j int) bool { return before[i].Equal(after[j]) })
	steps = merge(steps, func(i, j int) bool {
		return before[i].kind == after[j].kind && (after[j].kind == Object || after[j].kind == List)
	})
	hidden := 0
	for at, s := range steps {
		if !d.all && s.op == same && !changes(steps, at-1) && !changes(steps, at+1) {
			hidden++
			continue
		}
		d.hidden(&hidden, "element", indent)
		switch s.op {
		case changed:
			d.pair("", &before[s.before], &after[s.after], indent, within(path, s.after), ",")
		case removed:
			d.whole(removed, "", before[s.before], indent, ",")
		default:
			d.whole(s.op, "", after[s.after], indent, ",")
		}
	}
	d.hidden(&hidden, "element", indent)
}

func changes(steps []step, at int) bool {
	return at >= 0 && at < len(steps) && steps[at].op != same
}

// texts writes the difference of two texts: by lines, by the JSON in them, or as a whole.
func (d *differ) texts(head, before, after, indent string, path []any, tail, force string) {
	was, wasDocument := document(before)
	is, isDocument := document(after)
	switch {
	case wasDocument && isDocument && !was.Equal(is):
		d.line(indent, changed, head+"jsonencode("+force)
		d.pair("", &was, &is, indent+"    ", path, "")
		d.line(indent, same, ")"+tail)
	case multiline(before) || multiline(after):
		d.line(indent, changed, head+"<<-EOT"+force)
		d.lines(textLines(before), textLines(after), indent+"    ")
		d.line(indent, same, "EOT"+tail)
	default:
		d.line(indent, changed, head+quote(before)+" -> "+quote(after)+tail+force)
	}
}

// lines writes the difference of two texts line by line, with two unchanged lines around each
// change.
func (d *differ) lines(before, after []string, indent string) {
	steps := align(len(before), len(after), func(i, j int) bool { return before[i] == after[j] })
	near := func(at int) bool {
		return changes(steps, at-1) || changes(steps, at-2) || changes(steps, at+1) || changes(steps, at+2)
	}
	hidden := 0
	for at, s := range steps {
		if !d.all && s.op == same && !near(at) {
			hidden++
			continue
		}
		d.hidden(&hidden, "line", indent)
		if s.op == added {
			d.line(indent, added, diagnostic.Printable(after[s.after]))
		} else {
			d.line(indent, s.op, diagnostic.Printable(before[s.before]))
		}
	}
	d.hidden(&hidden, "line", indent)
}

// multiline reports whether a text is written as several lines.
func multiline(text string) bool { return strings.Contains(strings.TrimRight(text, "\n"), "\n") }

func textLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// quote quotes a text as in configuration, and escapes unprintable characters.
func quote(text string) string {
	quoted := strconv.Quote(text)
	quoted = strings.ReplaceAll(quoted, "${", "$${")
	return strings.ReplaceAll(quoted, "%{", "%%{")
}

// key formats an attribute's name, quoted if needed.
func key(name string) string {
	if hclsyntax.ValidIdentifier(name) || name == SensitiveMark {
		return name
	}
	return quote(name)
}
