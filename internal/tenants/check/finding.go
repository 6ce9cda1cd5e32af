// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
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
	// ID is the object's id; empty for the template as a whole.
	ID string `json:"id,omitempty"`
	// Field is the place in the template, such as manifests[db].
	Field string `json:"field,omitempty"`
	// File, Line and Column are the place in the rendered program of an object.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Message is one line, without a final stop.
	Message string `json:"message"`
	// Snippet has the lines of the program; nil if there are none to show.
	Snippet *diagnostic.Snippet `json:"snippet,omitempty"`

	// order is the position of its object in the template.
	order int
}

// String returns the finding on one line, its place first.
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

// Warnings returns the remarks among findings.
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
	// Conditions must be short.
	maxTold = 10
	maxLine = 500
	maxCode = 120
)

// codeIndent begins the lines of a summary that show the program.
const codeIndent = "    "

// Summary lists the first mistakes for a condition, one on a line, each followed by the line of the
// program; empty if there are none.
func Summary(findings []Finding) string {
	errs := Errors(findings)
	lines := make([]string, 0, min(len(errs), maxTold)+1)
	for _, f := range errs[:min(len(errs), maxTold)] {
		lines = append(lines, shorten.Cut(f.String(), maxLine))
		if code := f.code(); code != "" {
			lines = append(lines, codeIndent+code)
		}
	}
	if more := len(errs) - maxTold; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// code returns the first line of the snippet, with its number.
func (f Finding) code() string {
	if f.Snippet == nil {
		return ""
	}
	first, _, _ := strings.Cut(f.Snippet.Code, "\n")
	line := shorten.Cut(diagnostic.Printable(strings.TrimSpace(first)), maxCode)
	if line == "" {
		return ""
	}
	return fmt.Sprintf("%d: %s", f.Snippet.StartLine, line)
}

// WithoutCode returns a summary without the lines of programs.
func WithoutCode(summary string) string {
	lines := slices.DeleteFunc(strings.Split(summary, "\n"), func(line string) bool { return strings.HasPrefix(line, codeIndent) })
	return strings.Join(lines, "\n")
}

// inOrder sorts findings by their place in the template, those about the whole first, and mistakes
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
