// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// HCL's parser stops at the first error in a file, so an author would fix several errors one by
// one, with a plan for each. Instead we split an invalid file where its blocks begin and parse each
// block alone. We blank a line with an error and parse its block again.

const (
	// maxRetries limits the errors that are searched in one block.
	maxRetries = 10
	// maxRetried limits the size of a block that is parsed again.
	maxRetried = 256 << 10
	// maxPieces limits the blocks that are parsed alone.
	maxPieces = 2000
)

// opening matches the first line of a block in the usual style: at the margin, with the brace on
// the same line.
var opening = regexp.MustCompile(`^(?:(?:resource|data|ephemeral)[ \t]+"?[\w-]+"?[ \t]+"?[\w-]+"?|(?:variable|output|module|provider|check)[ \t]+"?[\w-]+"?|` +
	`locals|terraform|moved|import|removed)[ \t]*\{`)

// heredoc matches the beginning of a heredoc at the end of a line.
var heredoc = regexp.MustCompile(`<<-?([\pL_][\pL\pN_-]*)[ \t]*\r?$`)

// piece is a part of a file, and its position.
type piece struct {
	text []byte
	at   hcl.Pos
}

// cut splits a file where blocks begin. It ignores lines of a heredoc.
func cut(src []byte) []piece {
	var pieces []piece
	start, current, end := hcl.InitialPos, hcl.InitialPos, ""
	for len(pieces) < maxPieces-1 {
		rest := src[current.Byte:]
		line, _, more := bytes.Cut(rest, []byte("\n"))
		switch {
		case end != "":
			if string(bytes.TrimSpace(line)) == end {
				end = ""
			}
		case opening.Match(line) && current.Byte > start.Byte:
			pieces = append(pieces, piece{src[start.Byte:current.Byte], start})
			start = current
			fallthrough
		default:
			if m := heredoc.FindSubmatch(line); m != nil {
				end = string(m[1])
			}
		}
		if !more {
			break
		}
		current.Byte, current.Line = current.Byte+len(line)+1, current.Line+1
	}
	return append(pieces, piece{src[start.Byte:], start})
}

// mistakes returns the errors of an invalid native file, and the blocks that are valid. first is
// the parser's error for the whole file.
func mistakes(name string, src []byte, first hcl.Diagnostics) (diags hcl.Diagnostics, sound []*hcl.File) {
	retries := maxDiagnostics
	pieces := cut(src)
	for _, p := range pieces {
		var file *hcl.File
		found := first
		if len(pieces) > 1 {
			file, found = hclsyntax.ParseConfig(p.text, name, p.at)
		}
		if !found.HasErrors() {
			sound = append(sound, file)
			continue
		}
		if len(diags) >= maxDiagnostics {
			continue
		}
		diags = append(diags, found[0])
		text := bytes.Clone(p.text)
		for range maxRetries {
			if retries--; retries < 0 || len(text) > maxRetried || !leaveOut(text, p.at.Byte, found[0]) {
				break
			}
			if _, found = hclsyntax.ParseConfig(text, name, p.at); !found.HasErrors() {
				break
			}
			diags = append(diags, found[0])
		}
	}
	if len(diags) == 0 { // each part is valid, but the whole is not
		return first[:1], nil
	}
	return diags, sound
}

// leaveOut blanks the line with an error. It returns false and changes nothing if that would
// unbalance the block, because the rest would be misread.
func leaveOut(text []byte, at int, d *hcl.Diagnostic) bool {
	if d.Subject == nil || d.Subject.Start.Byte < at || d.Subject.Start.Byte-at > len(text) {
		return false
	}
	middle := d.Subject.Start.Byte - at
	begin := bytes.LastIndexByte(text[:middle], '\n') + 1
	end := len(text)
	if i := bytes.IndexByte(text[middle:], '\n'); i >= 0 {
		end = middle + i
	}
	line := text[begin:end]
	if len(bytes.TrimSpace(line)) == 0 || !balanced(line) {
		return false
	}
	for i := range line {
		line[i] = ' '
	}
	return true
}

// balanced reports whether a line closes every bracket that it opens. It ignores quoted text and
// everything after an open quote.
func balanced(line []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0 && !heredoc.Match(line)
}
