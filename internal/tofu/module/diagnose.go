// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcled"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// A broken file can produce an error on each line; more than these are not useful.
const (
	maxDiagnostics  = 50
	maxSnippetLines = 6
	maxSnippetLine  = 300
)

// list converts HCL's diagnostics, ordered by file and line.
func (p *parser) list() diagnostic.List {
	var list diagnostic.List
	for _, d := range p.diags {
		list = append(list, p.convert(d))
	}
	slices.SortStableFunc(list, func(a, b diagnostic.Diagnostic) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return list[:min(len(list), maxDiagnostics)]
}

func (p *parser) convert(d *hcl.Diagnostic) diagnostic.Diagnostic {
	out := diagnostic.Diagnostic{Severity: diagnostic.Error, Summary: d.Summary, Detail: d.Detail}
	if d.Severity == hcl.DiagWarning {
		out.Severity = diagnostic.Warning
	}
	if d.Subject == nil {
		return out
	}
	out.File, out.Line, out.Column = d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column
	if file := p.files[d.Subject.Filename]; file != nil {
		out.Snippet = snippet(file, *d.Subject)
	}
	return out
}

// snippet returns the lines that the range touches.
func snippet(file *hcl.File, r hcl.Range) *diagnostic.Snippet {
	src := file.Bytes
	if r.Start.Line == 0 || r.Start.Byte < 0 || r.Start.Byte > len(src) {
		return nil
	}
	begin := bytes.LastIndexByte(src[:r.Start.Byte], '\n') + 1
	end, lines := begin, 0
	for lines < maxSnippetLines && end < len(src) && (lines == 0 || end < r.End.Byte) {
		lines++
		if n := bytes.IndexByte(src[end:], '\n'); n >= 0 {
			end += n + 1
		} else {
			end = len(src)
		}
	}
	code := bytes.TrimRight(src[begin:end], "\r\n")
	if len(code) > maxSnippetLine*maxSnippetLines {
		return nil
	}
	context := ""
	if file.Nav != nil {
		context = hcled.ContextString(file, r.Start.Byte)
	}
	return &diagnostic.Snippet{
		Context: context, Code: string(code), StartLine: r.Start.Line,
		HighlightStart: r.Start.Byte - begin, HighlightEnd: min(r.End.Byte-begin, len(code)),
	}
}
