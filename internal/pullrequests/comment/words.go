// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package comment

import (
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// list joins parts with commas.
func list(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ", ")
}

func some(n int, what string) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + " " + what
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// String are the counts in words, the riskiest first: 1 to destroy, 2 to add.
func (c Counts) String() string {
	words := list(some(c.Destroy, "to destroy"), some(c.Replace, "to replace"), some(c.Add, "to add"), some(c.Change, "to change"),
		some(c.Import, "to import"), some(c.Move, "to move"), some(c.Forget, "to forget"))
	if words == "" {
		return "no changes"
	}
	return words
}

// sums are the totals of a report.
type sums struct {
	counts                                         Counts
	states                                         map[State]int
	failed, refused, warned, created, deleted, out int
	changed                                        int
}

func sum(r Report) sums {
	s := sums{states: map[State]int{}}
	for _, stack := range r.Stacks {
		s.counts = s.counts.plus(stack.Counts)
		s.states[stack.State]++
		if stack.State == Failed || len(stack.Problems) > 0 {
			s.failed++
		}
		refuses, warns := judged(stack)
		if refuses {
			s.refused++
		} else if warns {
			s.warned++
		}
		switch stack.Fate {
		case Created:
			s.created++
		case Deleted:
			s.deleted++
		}
		if !stack.Counts.Zero() || stack.Outputs > 0 {
			s.changed++
		}
		s.out += stack.Outputs
	}
	return s
}

func judged(s Stack) (refuses, warns bool) {
	for _, v := range s.Verdicts {
		refuses, warns = refuses || v.Refuses, warns || !v.Refuses
	}
	return refuses, warns
}

// headline is the report in one line.
func headline(r Report) string {
	s := sum(r)
	if len(r.Problems) > 0 && len(r.Stacks) == 0 {
		return "This pull request cannot be planned"
	}
	if len(r.Stacks) == 0 {
		if behind := breaks(r); behind != "" {
			return "This pull request " + behind
		}
		return "This pull request changes no stack"
	}
	waits := s.states[Waiting] + s.states[Running] + s.states[Applying]
	counts := ""
	if planned := len(r.Stacks) - waits - s.states[Held] - s.states[Failed]; planned > 0 || !s.counts.Zero() {
		counts = s.counts.String()
		if s.counts.Zero() && s.out > 0 {
			counts = plural(s.out, "changed output")
		}
	}
	return plural(len(r.Stacks), "stack") + ": " + list(some(s.failed+len(r.Problems), "failed"), some(s.refused, "refused by policy"), some(s.states[Drifted], "drifted"), some(s.states[Applied], "applied"), counts, some(waits, "in progress"), some(s.states[Held], "held"), some(s.warned, "with warnings"), some(s.created, "created"), some(s.deleted, "deleted"), breaks(r))
}

// breaks counts the stacks behind that break.
func breaks(r Report) string {
	n, _ := follows(r.Consequences)
	if n == 0 {
		return ""
	}
	return "breaks " + plural(n, "stack") + " behind"
}

// Status is the status beside the pull request's head.
func Status(name string, r Report) forge.Status {
	s := sum(r)
	status := forge.Status{Name: name, Result: forge.Success, Description: headline(r), URL: r.Link}
	switch {
	case s.failed+s.refused+s.states[Drifted]+len(r.Problems) > 0, breaks(r) != "":
		status.Result = forge.Failure
	case s.states[Waiting]+s.states[Running]+s.states[Held] > 0, r.BehindBusy: // what follows may break
		status.Result = forge.Pending
	}
	status.Annotations = annotations(r)
	return status
}

const (
	// maxAnnotations is what people read.
	maxAnnotations = 200
	maxTitle       = 200
	maxMessage     = 4000
)

// annotations are the problems at lines of files, each once.
func annotations(r Report) []forge.Annotation {
	var out []forge.Annotation
	seen := map[Problem]bool{}
	add := func(problems []Problem) {
		for _, p := range problems {
			if p.Path == "" || seen[p] || len(out) >= maxAnnotations {
				continue
			}
			seen[p] = true
			message := p.Detail
			if message == "" {
				message = p.Summary
			}
			out = append(out, forge.Annotation{Path: p.Path, Line: max(p.Line, 1), Title: clean(p.Summary, maxTitle), Message: cutBytes(visible(message, "\n\t"), maxMessage)})
		}
	}
	add(r.Problems)
	for _, s := range r.Stacks {
		add(s.Problems)
	}
	return out
}

func cutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
