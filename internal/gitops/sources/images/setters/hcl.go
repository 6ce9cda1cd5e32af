// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package setters

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// hcl edits a file of HCL: a marker at the end of a line is about the text before it.
func (s *Setters) hcl(name string, content []byte) Result {
	if _, wrong := hclsyntax.ParseConfig(content, name, hcl.InitialPos); wrong.HasErrors() {
		first := wrong.Errs()[0]
		return Result{Problem: "it is not valid HCL: " + first.Error()}
	}
	tokens, wrong := hclsyntax.LexConfig(content, name, hcl.InitialPos)
	if wrong.HasErrors() {
		return Result{Problem: "it is not valid HCL"}
	}
	p := &plan{setters: s, content: content}
	for i, token := range tokens {
		if token.Type != hclsyntax.TokenComment {
			continue
		}
		setter, ok := marked(string(token.Bytes))
		if !ok {
			continue
		}
		value, ok := p.value(setter)
		if !ok {
			continue
		}
		start, end, ok := textBefore(tokens[:i], token.Range.Start.Line)
		if !ok {
			p.problem(fmt.Sprintf("line %d: what precedes the marker is not a text in quotes without ${…}", token.Range.Start.Line))
			continue
		}
		if old := string(content[start:end]); old != value {
			p.replace(start, end, value, Change{old, value, setter, Object{Kind: "HCL", Name: name}})
		}
	}
	if len(p.spans) > 0 {
		p.result.Content = p.apply()
	}
	return p.result
}

// textBefore returns the bytes between the quotes of a text that ends a line.
func textBefore(tokens hclsyntax.Tokens, line int) (start, end int, ok bool) {
	if n := len(tokens); n > 0 && tokens[n-1].Type == hclsyntax.TokenComma {
		tokens = tokens[:n-1]
	}
	n := len(tokens)
	if n < 2 || tokens[n-1].Type != hclsyntax.TokenCQuote || tokens[n-1].Range.Start.Line != line {
		return 0, 0, false
	}
	switch open := tokens[n-2]; {
	case open.Type == hclsyntax.TokenOQuote: // an empty text
		return open.Range.End.Byte, open.Range.End.Byte, true
	case open.Type == hclsyntax.TokenQuotedLit && n > 2 && tokens[n-3].Type == hclsyntax.TokenOQuote:
		return open.Range.Start.Byte, open.Range.End.Byte, true
	}
	return 0, 0, false
}
