// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package finding holds what checks of an application's definition report: which field has which
// problem, and how to fix it.
//
// An error means that the definition cannot be used. A warning names something that works
// differently from what its author may expect. Findings contain names of fields and types, never
// values of instances.
package finding

import (
	"errors"
	"fmt"
	"strings"
)

// Severity is an error or a warning.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one problem.
type Finding struct {
	Severity Severity `json:"severity"`
	// Field is the path of the field, relative to what was checked.
	Field string `json:"field,omitempty"`
	// Pos is the position in the module's configuration, such as "main.tf:3".
	Pos     string `json:"pos,omitempty"`
	Problem string `json:"problem"`
	// Advice says how to fix it.
	Advice string `json:"advice,omitempty"`
}

// String returns "FIELD: PROBLEM; ADVICE (POS)".
func (f Finding) String() string {
	var b strings.Builder
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	b.WriteString(f.Problem)
	if f.Advice != "" {
		b.WriteString("; " + f.Advice)
	}
	if f.Pos != "" {
		b.WriteString(" (" + f.Pos + ")")
	}
	return b.String()
}

// List is a list of findings.
type List []Finding

// Add appends a finding; the advice may be empty.
func (l *List) Add(severity Severity, field, advice, problem string, args ...any) {
	*l = append(*l, Finding{Severity: severity, Field: field, Problem: fmt.Sprintf(problem, args...), Advice: advice})
}

// Of returns the findings of one severity.
func (l List) Of(severity Severity) (some List) {
	for _, f := range l {
		if f.Severity == severity {
			some = append(some, f)
		}
	}
	return some
}

// Below returns the findings with a prefix before their fields.
func (l List) Below(prefix string) List {
	below := make(List, 0, len(l))
	for _, f := range l {
		switch {
		case f.Field == "":
			f.Field = prefix
		case prefix == "":
		case strings.HasPrefix(f.Field, "["):
			f.Field = prefix + f.Field
		default:
			f.Field = prefix + "." + f.Field
		}
		below = append(below, f)
	}
	return below
}

// String returns one finding a line.
func (l List) String() string {
	lines := make([]string, len(l))
	for i, f := range l {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the errors as one error, or nil.
func (l List) Err() error {
	if bad := l.Of(Error); len(bad) > 0 {
		return errors.New(bad.String())
	}
	return nil
}
