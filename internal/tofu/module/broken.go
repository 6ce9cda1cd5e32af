// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// HCL's parser gives up at the first mistake in a file. An author with several mistakes would fix them one by one, with a plan or a
// check for each. So we cut a file with a mistake where its blocks begin and parse each block alone. We blank a line with a mistake
// and parse its block again.

const (
	// maxRetries is how many mistakes are looked for in one block.
	maxRetries = 10
	// maxRetried is how long a block may be to be read again.
	maxRetried = 256 << 10
	// maxPieces bounds the blocks that are read alone.
	maxPieces = 2000
)

// opening matches a line on which a block of a module begins, as everybody writes them: at the margin, the brace on the same line.
var opening = regexp.MustCompile(`^(?:(?:resource|data|ephemeral)[ \t]+"?[\w-]+"?[ \t]+"?[\w-]+"?|(?:variable|output|module|provider|check)[ \t]+"?[\w-]+"?|` +
	`locals|terraform|moved|import|removed)[ \t]*\{`)

// heredoc matches what begins one at the end of a line.
var heredoc = regexp.MustCompile(`<<-?([\pL_][\pL\pN_-]*)[ \t]*\r?$`)

// piece is a part of a file, and where it begins.
type piece struct {
	text []byte
	at   hcl.Pos
}

// cut splits a file where blocks begin. Lines of a heredoc begin none.
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

// mistakes are those of a native file that cannot be parsed, and the blocks that can: first is what the parser says of the whole.
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
	if len(diags) == 0 { // each part can be read, and the whole cannot
		return first[:1], nil
	}
	return diags, sound
}

// leaveOut blanks the line with a mistake. It returns false and changes nothing when that would unbalance the block, whose rest would
// then be misread.
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

// balanced says whether a line closes every bracket that it opens. It ignores text in quotes and behind an open quote.
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
