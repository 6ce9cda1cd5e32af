// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/brief"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Severity says whether a finding is a mistake.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is something about a template that its author should know.
type Finding struct {
	Severity Severity `json:"severity"`
	// ID is what the template calls the object; empty for the template as a whole.
	ID string `json:"id,omitempty"`
	// Field is the place in the template, such as manifests[db].
	Field string `json:"field,omitempty"`
	// File, Line and Column are the place in a program that is written in the template, as it is
	// once it is rendered.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Message is one line, without a final stop.
	Message string `json:"message"`
	// Snippet are the lines of the program that it is about; nil when there are none to show.
	Snippet *diagnostic.Snippet `json:"snippet,omitempty"`

	// order is where its object stands in the template.
	order int
}

// String is the finding on one line: its place first.
func (f Finding) String() string {
	var place []string
	if f.Field != "" {
		place = append(place, f.Field)
	}
	if f.File != "" {
		at := diagnostic.Printable(f.File)
		if f.Line > 0 {
			at += fmt.Sprintf(":%d", f.Line)
		}
		if f.Line > 0 && f.Column > 0 {
			at += fmt.Sprintf(":%d", f.Column)
		}
		place = append(place, at)
	}
	return strings.Join(append(place, diagnostic.Printable(f.Message)), ": ")
}

// Errors returns the mistakes among findings.
func Errors(findings []Finding) []Finding { return only(findings, Error) }

// Warnings returns what is worth knowing among findings.
func Warnings(findings []Finding) []Finding { return only(findings, Warning) }

func only(findings []Finding, s Severity) []Finding {
	var some []Finding
	for _, f := range findings {
		if f.Severity == s {
			some = append(some, f)
		}
	}
	return some
}

const (
	// A condition is read at a glance, and an object has no room for a thousand mistakes.
	maxTold = 10
	maxLine = 500
	maxCode = 120
)

// codeIndent begins the lines of a summary that show the program, below the mistake that they
// belong to.
const codeIndent = "    "

// Summary tells the first mistakes, one on a line, and below each the line of the program that it
// is about, as a condition has them; empty when there are none.
func Summary(findings []Finding) string {
	errs := Errors(findings)
	lines := make([]string, 0, min(len(errs), maxTold)+1)
	for _, f := range errs[:min(len(errs), maxTold)] {
		lines = append(lines, brief.Cut(f.String(), maxLine))
		if code := f.code(); code != "" {
			lines = append(lines, codeIndent+code)
		}
	}
	if more := len(errs) - maxTold; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// code is the first line of the program that a finding is about, with its number.
func (f Finding) code() string {
	if f.Snippet == nil {
		return ""
	}
	first, _, _ := strings.Cut(f.Snippet.Code, "\n")
	line := brief.Cut(diagnostic.Printable(strings.TrimSpace(first)), maxCode)
	if line == "" {
		return ""
	}
	return fmt.Sprintf("%d: %s", f.Snippet.StartLine, line)
}

// WithoutCode is a summary without the lines that show programs: a mistake each.
func WithoutCode(summary string) string {
	lines := slices.DeleteFunc(strings.Split(summary, "\n"), func(line string) bool { return strings.HasPrefix(line, codeIndent) })
	return strings.Join(lines, "\n")
}

// inOrder sorts findings by their place in the template; those about the whole come first, mistakes
// before warnings.
func inOrder(findings []Finding) []Finding {
	rank := map[Severity]int{Error: 0, Warning: 1}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(rank[a.Severity], rank[b.Severity]), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(findings, func(a, b Finding) bool {
		a.Snippet, b.Snippet = nil, nil
		return a == b
	})
}
