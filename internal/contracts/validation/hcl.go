// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/contracts/shape"
)

// Condition is a rule as an expression of OpenTofu.
type Condition struct {
	// Text is the rule, and Message what it says.
	Text, Message string
	// HCL is the expression; empty if OpenTofu's language cannot say the same.
	HCL string
}

// HCL translates the rules for values of a type, which have a name in OpenTofu's language such as
// var.value. A condition holds for each value for which the rule holds: what cannot be said as exactly is
// not translated.
func (v *Validations) HCL(of shape.Type, name string) []Condition {
	if v == nil {
		return nil
	}
	var all []Condition
	for _, c := range v.rules {
		one := Condition{Text: strings.TrimSpace(c.rule.Text), Message: c.says()}
		if t, ok := translate(c.code.Syntax(), scope{self: {name, of}}); ok {
			one.HCL = "try(" + t.text + ", false)" // rules that cannot be evaluated break
		}
		all = append(all, one)
	}
	return all
}

// term is an expression with its type; any if it is not known.
type term struct {
	text string
	of   shape.Type
}

// scope has the variables of an expression.
type scope map[string]term

var (
	aNumber = shape.Of(cty.Number, nil)
	aString = shape.Of(cty.String, nil)
	aBool   = shape.Of(cty.Bool, nil)
)

func translate(e ast.Expr, in scope) (term, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		t, ok := in[e.AsIdent()]
		return t, ok
	case ast.LiteralKind:
		return literal(e)
	case ast.SelectKind:
		of, ok := translate(e.AsSelect().Operand(), in)
		if !ok || e.AsSelect().IsTestOnly() {
			return term{}, false
		}
		return member(of, e.AsSelect().FieldName())
	case ast.ListKind:
		elements, ok := translateAll(e.AsList().Elements(), in)
		if !ok || len(e.AsList().OptionalIndices()) > 0 {
			return term{}, false
		}
		return term{text: "[" + strings.Join(texts(elements), ", ") + "]"}, true
	case ast.ComprehensionKind:
		return loop(e.AsComprehension(), in)
	case ast.CallKind:
		return call(e.AsCall(), in)
	}
	return term{}, false
}

func literal(e ast.Expr) (term, bool) {
	switch v := e.AsLiteral().(type) {
	case types.String:
		return term{quoted(string(v)), aString}, true
	case types.Int:
		return term{strconv.FormatInt(int64(v), 10), aNumber}, true
	case types.Double:
		return term{strconv.FormatFloat(float64(v), 'f', -1, 64), aNumber}, true
	case types.Bool:
		return term{strconv.FormatBool(bool(v)), aBool}, true
	case types.Null:
		return term{text: "null"}, true
	}
	return term{}, false
}

func quoted(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

// member is an attribute, or the element of a map.
func member(of term, name string) (term, bool) {
	if of.of.Kind() == shape.Map {
		return term{of.text + "[" + quoted(name) + "]", of.of.Element()}, true
	}
	a, ok := of.of.Attribute(name)
	return term{of.text + "." + name, a.Type}, ok
}

func translateAll(list []ast.Expr, in scope) ([]term, bool) {
	var all []term
	for _, e := range list {
		t, ok := translate(e, in)
		if !ok {
			return nil, false
		}
		all = append(all, t)
	}
	return all, true
}

func texts(list []term) []string {
	var all []string
	for _, t := range list {
		all = append(all, t.text)
	}
	return all
}

var comparisons = map[string]string{operators.Equals: "==", operators.NotEquals: "!=", operators.Less: "<", operators.LessEquals: "<=",
	operators.Greater: ">", operators.GreaterEquals: ">="}

// functions are those that mean the same in both languages, of two texts.
var functions = map[string]string{overloads.StartsWith: "startswith", overloads.EndsWith: "endswith", overloads.Contains: "strcontains"}

func call(c ast.CallExpr, in scope) (term, bool) {
	list := c.Args()
	if c.IsMemberFunction() {
		list = append([]ast.Expr{c.Target()}, list...)
	}
	args, ok := translateAll(list, in)
	if !ok {
		return term{}, false
	}
	name := c.FunctionName()
	switch {
	case len(args) == 1 && name == operators.LogicalNot:
		return term{"!(" + args[0].text + ")", aBool}, true
	case len(args) == 1 && name == overloads.Size:
		return size(args[0])
	case len(args) == 3 && name == operators.Conditional:
		return term{"(" + args[0].text + " ? " + args[1].text + " : " + args[2].text + ")", args[1].of}, true
	case len(args) != 2:
		return term{}, false
	}
	a, b := args[0], args[1]
	switch name {
	// In CEL, one side can decide although the other cannot be evaluated.
	case operators.LogicalAnd:
		return term{"alltrue([try(" + a.text + ", false), try(" + b.text + ", false)])", aBool}, true
	case operators.LogicalOr:
		return term{"anytrue([try(" + a.text + ", false), try(" + b.text + ", false)])", aBool}, true
	case operators.In:
		return contains(a, b)
	case operators.Index:
		return element(a, b, list[1])
	case overloads.Matches:
		return term{"can(regex(" + b.text + ", " + a.text + "))", aBool}, a.of.Kind() == shape.String && list[1].Kind() == ast.LiteralKind
	}
	if f := functions[name]; f != "" {
		return term{f + "(" + a.text + ", " + b.text + ")", aBool}, a.of.Kind() == shape.String && b.of.Kind() == shape.String
	}
	return compare(comparisons[name], a, b)
}

// compare compares numbers, and anything for equality. OpenTofu does not order texts.
func compare(op string, a, b term) (term, bool) {
	numbers := a.of.Kind() == shape.Number && b.of.Kind() == shape.Number
	return term{"(" + a.text + " " + op + " " + b.text + ")", aBool}, op != "" && (numbers || op == "==" || op == "!=")
}

// size is the size of a collection. That of a text counts other things in the two languages.
func size(of term) (term, bool) {
	switch of.of.Kind() {
	case shape.List, shape.Set, shape.Map, shape.Tuple:
		return term{"length(" + of.text + ")", aNumber}, true
	}
	return term{}, false
}

func contains(what, in term) (term, bool) {
	switch {
	case in.of.Kind() == shape.Map:
		return term{"contains(keys(" + in.text + "), " + what.text + ")", aBool}, true
	case in.of.Kind() == shape.List, in.of.Kind() == shape.Set, strings.HasPrefix(in.text, "["):
		return term{"contains(" + in.text + ", " + what.text + ")", aBool}, true
	}
	return term{}, false
}

func element(of, at term, index ast.Expr) (term, bool) {
	if index.Kind() != ast.LiteralKind {
		return term{}, false
	}
	switch i := index.AsLiteral().(type) {
	case types.String:
		return member(of, string(i))
	case types.Int:
		if elements := of.of.Elements(); int(i) < len(elements) && i >= 0 {
			return term{of.text + "[" + at.text + "]", elements[i]}, true
		}
		return term{of.text + "[" + at.text + "]", of.of.Element()}, of.of.Kind() == shape.List && i >= 0
	}
	return term{}, false
}

// loop translates the macros all and exists.
func loop(c ast.ComprehensionExpr, in scope) (term, bool) {
	over, ok := translate(c.IterRange(), in)
	accumulates := c.LoopStep().Kind() == ast.CallKind && len(c.LoopStep().AsCall().Args()) == 2 &&
		c.LoopStep().AsCall().Args()[0].Kind() == ast.IdentKind && c.LoopStep().AsCall().Args()[0].AsIdent() == c.AccuVar()
	plainResult := c.Result().Kind() == ast.IdentKind && c.Result().AsIdent() == c.AccuVar()
	if !ok || !accumulates || !plainResult || c.HasIterVar2() {
		return term{}, false
	}
	step := c.LoopStep().AsCall()
	function := map[string]string{operators.LogicalAnd: "alltrue", operators.LogicalOr: "anytrue"}[step.FunctionName()]
	inner := maps.Clone(in)
	name := "v" + strconv.Itoa(len(in))
	binds := name
	switch over.of.Kind() {
	case shape.List, shape.Set:
		inner[c.IterVar()] = term{name, over.of.Element()}
	case shape.Map: // CEL visits the keys
		inner[c.IterVar()], binds = term{name, aString}, name+", _"
	default:
		return term{}, false
	}
	if len(inner) == len(in) || function == "" { // a variable that hides another one could take its name here
		return term{}, false
	}
	body, ok := translate(step.Args()[1], inner)
	return term{function + "([for " + binds + " in " + over.text + " : try(" + body.text + ", false)])", aBool}, ok
}
