// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Severity says whether a diagnostic is an error or a warning.
type Severity string

// The severities, spelled as in OpenTofu's machine-readable output.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one error or warning about a configuration.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	// Summary is one short line without a full stop.
	Summary string `json:"summary"`
	// Detail is prose, possibly of several paragraphs.
	Detail string `json:"detail,omitempty"`
	// Address is the address of the affected resource instance, if any.
	Address string `json:"address,omitempty"`
	// File is relative to the root module; empty if unknown.
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
	// Values describe the values of expressions in Code.
	Values []Value `json:"values,omitempty"`
}

// Value describes the value of one expression, never a sensitive one.
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

// String formats the diagnostic on one line, for conditions and events.
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

// List is a list of diagnostics in their original order.
type List []Diagnostic

// Errors returns the errors.
func (l List) Errors() List { return l.only(Error) }

// Warnings returns the warnings.
func (l List) Warnings() List { return l.only(Warning) }

// HasErrors reports whether the list contains an error.
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

// Error returns the formatted text of the errors, with position and snippet, and without colours.
func (l List) Error() string { return strings.TrimRight(l.Errors().Format(Options{}), "\n") }

// AsError returns the list if it contains an error, and nil otherwise.
func (l List) AsError() error {
	if l.HasErrors() {
		return l
	}
	return nil
}

// oneLine folds white space and returns the first paragraph.
func oneLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n\n")
	return Printable(shorten.Line(first))
}
