// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options configure the text.
type Options struct {
	// Color adds ANSI colours.
	Color bool
}

const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// paint adds ANSI codes to s if colours are enabled.
func (o Options) paint(s string, codes ...string) string {
	if !o.Color || s == "" {
		return s
	}
	return strings.Join(codes, "") + s + reset
}

// Format formats each diagnostic as a block of lines, separated by empty lines.
func (l List) Format(o Options) string {
	blocks := make([]string, 0, len(l))
	for _, d := range l {
		blocks = append(blocks, d.Format(o))
	}
	return strings.Join(blocks, "\n")
}

// Format formats the diagnostic as OpenTofu does: summary, position, the source lines with carets
// below the highlighted part, known values, detail.
func (d Diagnostic) Format(o Options) string {
	var b strings.Builder
	switch d.Severity {
	case Warning:
		b.WriteString(o.paint("Warning:", bold, yellow))
	default:
		b.WriteString(o.paint("Error:", bold, red))
	}
	b.WriteString(" " + o.paint(Printable(d.Summary), bold) + "\n")
	if place := d.place(); place != "" {
		b.WriteString("\n" + place)
	}
	if d.Snippet != nil {
		b.WriteString(d.Snippet.Format(o))
	}
	if detail := strings.TrimSpace(Printable(d.Detail)); detail != "" {
		b.WriteString("\n" + detail + "\n")
	}
	return b.String()
}

func (d Diagnostic) place() string {
	var b strings.Builder
	if d.Address != "" {
		fmt.Fprintf(&b, "  with %s,\n", Printable(d.Address))
	}
	if d.File == "" {
		return b.String()
	}
	fmt.Fprintf(&b, "  on %s", Printable(d.File))
	if d.Line > 0 {
		fmt.Fprintf(&b, " line %d", d.Line)
	}
	if d.Snippet != nil && d.Snippet.Context != "" {
		fmt.Fprintf(&b, ", in %s", Printable(d.Snippet.Context))
	}
	b.WriteString(":\n")
	return b.String()
}

// Format numbers the lines and puts carets below the highlighted part; a highlight of several lines
// is marked on each of them.
func (s *Snippet) Format(o Options) string {
	var b strings.Builder
	offset := 0
	for i, line := range strings.Split(strings.TrimRight(s.Code, "\n"), "\n") {
		fmt.Fprintf(&b, "%4d: %s\n", s.StartLine+i, Printable(line))
		if marks := carets(line, s.HighlightStart-offset, s.HighlightEnd-offset); marks != "" {
			b.WriteString("      " + o.paint(marks, bold, red) + "\n")
		}
		offset += len(line) + 1
	}
	if len(s.Values) > 0 {
		b.WriteString("    ├────────────────\n")
		for _, v := range s.Values {
			fmt.Fprintf(&b, "    │ %s %s\n", Printable(v.Expression), Printable(v.Statement))
		}
	}
	return b.String()
}

// carets underlines the bytes start to end of the line. It keeps tabs for alignment. An empty
// highlight at the end of the line, such as a missing quote, gets one caret.
func carets(line string, start, end int) string {
	if start == len(line) && end >= start {
		line, end = line+" ", start+1
	}
	start, end = max(start, 0), min(end, len(line))
	if start >= end {
		return ""
	}
	var b strings.Builder
	for i, r := range line {
		switch {
		case i >= end:
			return b.String()
		case i+utf8.RuneLen(r) > start:
			b.WriteByte('^')
		case r == '\t':
			b.WriteByte('\t')
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Printable makes text safe for terminals: it escapes control characters other than tab and
// newline, and invisible characters that reorder text.
func Printable(s string) string {
	if strings.IndexFunc(s, steers) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\r':
		case steers(r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func steers(r rune) bool {
	switch {
	case r == '\t', r == '\n':
		return false
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return unicode.IsControl(r)
}
