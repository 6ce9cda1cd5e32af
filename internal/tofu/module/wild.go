// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The parsers recurse for each nesting level, and Go ends the process when a stack is full. So
// nesting is measured before. maxPending limits the tokens that one expression keeps open on all
// levels together: the worst, a parenthesis, takes about 5 KiB of stack.
const (
	maxPending  = 20000
	maxDepth    = 1000
	maxExponent = 999
)

// tooWild says why a native file must not be parsed, or returns nil.
func tooWild(src []byte, name string) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	var levels []level
	current := level{kind: hclsyntax.TokenOBrace}
	pending := 0
	for _, token := range tokens {
		if !leaf(token) {
			pending++
			current.pending++
		}
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			levels = append(levels, current)
			current = level{kind: token.Type}
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(levels) > 0 {
				pending -= current.pending
				current, levels = levels[len(levels)-1], levels[:len(levels)-1]
			}
		case hclsyntax.TokenComma:
			pending -= current.pending
			current.pending = 0
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			// A comment to the end of its line includes the line's end.
			if current.kind == hclsyntax.TokenOBrace && bytes.HasSuffix(token.Bytes, []byte("\n")) {
				pending -= current.pending
				current.pending = 0
			}
		case hclsyntax.TokenNumberLit:
			if wildNumber(string(token.Bytes)) {
				return refuse(token.Range, "Number out of range", fmt.Sprintf("Exponents go up to %d.", maxExponent))
			}
		}
		if len(levels) > maxDepth || pending > maxPending {
			return refuse(token.Range, "Configuration nested too deeply", "Expressions and blocks may nest "+
				strconv.Itoa(maxDepth)+" levels deep.")
		}
	}
	return nil
}

// leaf reports whether the parsers never recurse for a token: comments, and lines of text.
func leaf(token hclsyntax.Token) bool {
	switch token.Type {
	case hclsyntax.TokenComment, hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
		return true
	default:
		return false
	}
}

// level is an open bracket, quote or template and the tokens in it since the last separator.
type level struct {
	kind    hclsyntax.TokenType
	pending int
}

func refuse(r hcl.Range, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &r}
}

// wildNumber finds numbers that fill the memory, such as 1e999999999, or take long to parse because
// they have thousands of digits.
func wildNumber(literal string) bool {
	if len(literal) > maxExponent {
		return true
	}
	i := strings.IndexAny(literal, "eE")
	if i < 0 {
		return false
	}
	exponent, err := strconv.Atoi(strings.TrimPrefix(literal[i+1:], "+"))
	return err != nil || exponent > maxExponent || exponent < -maxExponent
}

// tooWildJSON says why a JSON document must not be parsed, or returns "". The document may be
// invalid.
func tooWildJSON(src []byte) string {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			i = endOfString(src, i)
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return "nested too deeply"
			}
		case c == ']' || c == '}':
			depth--
		case c >= '0' && c <= '9':
			start := i
			for i+1 < len(src) && strings.IndexByte("0123456789.eE+-", src[i+1]) >= 0 {
				i++
			}
			if wildNumber(string(src[start : i+1])) {
				return "number out of range"
			}
		}
	}
	return ""
}

// endOfString returns the index of the quote that ends the string at start.
func endOfString(src []byte, start int) int {
	for i := start + 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(src)
}
