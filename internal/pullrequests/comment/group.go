// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package comment

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// group are stacks that change alike.
type group struct {
	names []string
	links []string
	Stack
}

// risk orders groups: the highest first.
type risk int

const (
	idle risk = iota
	busy
	held
	grows
	warned
	destroys
	refused
	failed
)

func riskOf(s Stack) risk {
	refuses, warns := judged(s)
	switch {
	case s.State == Failed || s.State == Drifted || len(s.Problems) > 0:
		return failed
	case refuses:
		return refused
	case s.Counts.Destroy+s.Counts.Replace > 0 || s.Fate == Deleted:
		return destroys
	case warns:
		return warned
	case !s.Counts.Zero() || s.Outputs > 0 || len(s.Fields) > 0 || s.Fate == Created:
		return grows
	case s.State == Held:
		return held
	case s.State == Waiting || s.State == Running:
		return busy
	}
	return idle
}

// groups folds stacks that change alike, the riskiest first.
func groups(stacks []Stack) []group {
	sorted := slices.Clone(stacks)
	slices.SortStableFunc(sorted, func(a, b Stack) int { return strings.Compare(a.Name, b.Name) })
	var out []group
	at := map[string]int{}
	for _, s := range sorted {
		key := s
		// Texts of plans are large.
		sum := sha256.Sum256([]byte(s.Changes))
		key.Name, key.Link, key.Changes = "", "", string(sum[:])
		id := fmt.Sprintf("%#v", key) // not %v: counts print alike
		i, known := at[id]
		if !known {
			i = len(out)
			at[id] = i
			out = append(out, group{Stack: s})
		}
		out[i].names, out[i].links = append(out[i].names, s.Name), append(out[i].links, s.Link)
	}
	slices.SortStableFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(riskOf(b.Stack), riskOf(a.Stack)),
			cmp.Compare(b.Counts.Destroy+b.Counts.Replace, a.Counts.Destroy+a.Counts.Replace), strings.Compare(a.names[0], b.names[0]))
	})
	return out
}

// signs are the marks of risks. Words say the same beside them.
var signs = map[risk]string{failed: "❌", refused: "⛔", destroys: "⚠️", warned: "⚠️", grows: "✅", held: "✋", busy: "⏳", idle: "✅"}

// result says in words what becomes of a group's stacks.
func (g group) result() string {
	refuses, warns := judged(g.Stack)
	words := ""
	switch {
	case g.State == Failed || len(g.Problems) > 0:
		words = "failed"
		if g.Reason != "" {
			words += ": " + cell(g.Reason, 300)
		}
	case g.State == Drifted:
		words = "**drifted**: " + cell(g.Reason, 200)
	case g.State == Waiting, g.State == Running:
		words = string(g.State)
	case g.State == Applying:
		words = list("applying", reason(g.Reason))
	case g.State == Held:
		words = "held: " + cell(g.Reason, 200)
	default:
		words = g.Counts.String()
		if g.Counts.Zero() && g.Outputs > 0 {
			words = ""
		}
		if g.Outputs > 0 {
			words = list(words, plural(g.Outputs, "output"))
		}
		if g.State == Applied {
			words = list("applied: "+words, reason(g.Reason))
		}
	}
	if refuses {
		words = list("**refused by policy**", words)
	} else if warns {
		words = list(words, "with warnings")
	}
	switch g.Fate {
	case Created:
		words = list(words, "new stack")
	case Deleted:
		words = list(words, "**the stack is deleted**")
	}
	return words
}

// reason is foreign text for a cell; empty stays empty.
func reason(text string) string {
	if text == "" {
		return ""
	}
	return cell(text, 200)
}
