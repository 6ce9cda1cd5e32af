// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/brief"
)

// Severity says whether a diagnostic stops the work.
type Severity string

// The severities, spelled as in OpenTofu's machine-readable output.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one thing wrong with, or noteworthy about, a configuration.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	// Summary is one short line without a final stop.
	Summary string `json:"summary"`
	// Detail is prose, possibly of several paragraphs.
	Detail string `json:"detail,omitempty"`
	// Address names the resource instance that is affected, if one is.
	Address string `json:"address,omitempty"`
	// File is relative to the root module; empty when no place is known.
	File string `json:"file,omitempty"`
	// Line and Column count from one, Column in characters.
	Line    int      `json:"line,omitempty"`
	Column  int      `json:"column,omitempty"`
	Snippet *Snippet `json:"snippet,omitempty"`
}

// Snippet is the source that a diagnostic is about.
type Snippet struct {
	// Context names the enclosing block, as in `resource "aws_vpc" "main"`.
	Context string `json:"context,omitempty"`
	// Code is one or more whole lines.
	Code string `json:"code"`
	// StartLine is the number of the first line of Code.
	StartLine int `json:"start_line"`
	// HighlightStart and HighlightEnd are byte offsets into Code.
	HighlightStart int `json:"highlight_start"`
	HighlightEnd   int `json:"highlight_end"`
	// Values tell what expressions in Code evaluated to.
	Values []Value `json:"values,omitempty"`
}

// Value tells something about one expression, never a sensitive value.
type Value struct {
	Expression string `json:"expression"`
	Statement  string `json:"statement"`
}

// Place returns "FILE:LINE", "FILE" or "".
func (d Diagnostic) Place() string {
	switch {
	case d.File == "":
		return ""
	case d.Line == 0:
		return Printable(d.File)
	default:
		return fmt.Sprintf("%s:%d", Printable(d.File), d.Line)
	}
}

// String puts the diagnostic on one line, as conditions and events show it.
func (d Diagnostic) String() string {
	var b strings.Builder
	if place := d.Place(); place != "" {
		b.WriteString(place + ": ")
	}
	b.WriteString(oneLine(d.Summary))
	if detail := oneLine(d.Detail); detail != "" {
		b.WriteString(": " + detail)
	}
	return b.String()
}

// List is a number of diagnostics in the order in which they arose.
type List []Diagnostic

// Errors returns those that stop the work.
func (l List) Errors() List { return l.only(Error) }

// Warnings returns those that do not.
func (l List) Warnings() List { return l.only(Warning) }

// HasErrors reports whether any of them stops the work.
func (l List) HasErrors() bool { return len(l.Errors()) > 0 }

func (l List) only(s Severity) List {
	var out List
	for _, d := range l {
		if d.Severity == s {
			out = append(out, d)
		}
	}
	return out
}

// Error makes a list usable as an error. It is the formatted text of its
// errors, with place and snippet, and without colours.
func (l List) Error() string { return strings.TrimRight(l.Errors().Format(Options{}), "\n") }

// AsError returns the list if it holds an error and nil otherwise.
func (l List) AsError() error {
	if l.HasErrors() {
		return l
	}
	return nil
}

// oneLine folds white space and takes the first paragraph only.
func oneLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n\n")
	return Printable(brief.Line(first))
}
