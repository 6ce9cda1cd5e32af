// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// maxText is the maximum length of a type, and of a Contract's spec.type.
	maxText = 64 << 10
	// maxDepth limits brackets, of which object({a = optional(…)}) opens three a level. The parser
	// recurses for each.
	maxDepth = 100
	// maxNumber is the maximum number of digits, and of the exponent, of a number in a default.
	maxNumber = 999
	// maxSigns limits signs in a row, for which the parser recurses, too.
	maxSigns = 8
)

// Error says why a text is not a type, and where.
type Error struct {
	// Line and Column count from 1, the column in characters.
	Line, Column    int
	Summary, Detail string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("parse the type, line %d, column %d: %s", e.Line, e.Column, e.Summary)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Parse parses a type in OpenTofu's syntax. An error is an *Error.
func Parse(text string) (Type, error) {
	switch {
	case len(text) > maxText:
		return Type{}, &Error{1, 1, "The type is too long", fmt.Sprintf("It has %d bytes: at most %d are allowed.", len(text), maxText)}
	case !utf8.ValidString(text):
		return Type{}, &Error{1, 1, "The type is not valid UTF-8", ""}
	case strings.TrimSpace(text) == "":
		return Type{}, &Error{1, 1, "The type is empty", "Write a type such as object({vpc_id = string}); any accepts everything."}
	}
	if err := measure(text); err != nil {
		return Type{}, err
	}
	// In parentheses, as a type may go over several lines; the first line begins a column earlier.
	expr, diags := hclsyntax.ParseExpression([]byte("("+text+"\n)"), "", hcl.Pos{Line: 1, Column: 0})
	if diags.HasErrors() {
		return Type{}, located(text, diags)
	}
	if parentheses, ok := expr.(*hclsyntax.ParenthesesExpr); ok {
		expr = parentheses.Expression
	}
	if err := plain(expr); err != nil {
		return Type{}, err
	}
	ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
	if diags.HasErrors() {
		return Type{}, located(text, diags)
	}
	return Of(ty, defaults), nil
}

func located(text string, diags hcl.Diagnostics) *Error {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		e := &Error{1, 1, d.Summary, d.Detail}
		if d.Subject != nil {
			e.Line, e.Column = d.Subject.Start.Line, max(1, d.Subject.Start.Column)
		}
		// Not on the line of the parenthesis that the user did not write.
		if lines := strings.Split(text, "\n"); e.Line > len(lines) {
			e.Line, e.Column = len(lines), utf8.RuneCountInString(lines[len(lines)-1])+1
		}
		return e
	}
	return &Error{1, 1, "The type cannot be read", "This is a bug in Yuba."}
}

func at(r hcl.Range, summary, detail string) error {
	return &Error{r.Start.Line, max(1, r.Start.Column), summary, detail}
}

// measure refuses what would make the parser recurse deeply, or compute large numbers.
func measure(text string) error {
	tokens, _ := hclsyntax.LexExpression([]byte(text), "", hcl.InitialPos)
	depth, signs := 0, 0
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote:
			depth--
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl, hclsyntax.TokenOHeredoc, hclsyntax.TokenQuestion,
			hclsyntax.TokenDot, hclsyntax.TokenAnd, hclsyntax.TokenOr:
			return at(token.Range, "A type has no expressions", "A default is a plain value: a text, a number, true, false, a list or an object.")
		case hclsyntax.TokenNumberLit:
			if wild(string(token.Bytes)) {
				return at(token.Range, "The number is too large", fmt.Sprintf("Numbers have at most %d digits, and exponents up to %[1]d.", maxNumber))
			}
		}
		if token.Type == hclsyntax.TokenMinus || token.Type == hclsyntax.TokenBang {
			signs++
		} else {
			signs = 0
		}
		if depth > maxDepth || signs > maxSigns {
			return at(token.Range, "The type is nested too deeply", fmt.Sprintf("At most %d brackets may be open.", maxDepth))
		}
	}
	return nil
}

func wild(number string) bool {
	if len(number) > maxNumber {
		return true
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return false
	}
	exponent, err := strconv.Atoi(strings.TrimPrefix(number[i+1:], "+"))
	return err != nil || exponent > maxNumber || exponent < -maxNumber
}

// plain refuses expressions that must be computed: they could take any time and memory.
func plain(expr hclsyntax.Expression) error {
	var found error
	hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics { //nolint:errcheck // the visitor reports nothing
		switch n := n.(type) {
		case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr, *hclsyntax.LiteralValueExpr, *hclsyntax.ObjectConsExpr,
			*hclsyntax.ObjectConsKeyExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ExprSyntaxError, hclsyntax.ChildScope:
			return nil
		case *hclsyntax.UnaryOpExpr:
			if n.Op == hclsyntax.OpNegate {
				return nil
			}
		case *hclsyntax.TemplateExpr:
			if n.IsStringLiteral() || len(n.Parts) == 0 {
				return nil
			}
		}
		if found == nil {
			found = at(n.Range(), "A type has no expressions", "A default is a plain value: a text, a number, true, false, a list or an object.")
		}
		return nil
	})
	return found
}
