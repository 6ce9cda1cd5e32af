// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// draft is a variable whose attributes override files may still change.
type draft struct {
	block *hcl.Block
	attrs hcl.Attributes
	base  bool
}

func (p *parser) variable(block *hcl.Block, override bool) {
	name := block.Labels[0]
	content, _, diags := block.Body.PartialContent(variableSchema)
	p.diags = append(p.diags, diags...)
	if !hclsyntax.ValidIdentifier(name) {
		r := block.LabelRanges[0]
		p.report(refuse(r, "Invalid variable name",
			"A name begins with a letter or an underscore and has only letters, digits, underscores and dashes."))
		return
	}
	d := p.variables[name]
	switch {
	case d == nil:
		p.variables[name] = &draft{block: block, attrs: content.Attributes, base: !override}
	case !override:
		p.duplicate("variable", name, position(d.block.DefRange), block)
	default:
		maps.Copy(d.attrs, content.Attributes)
	}
}

// finishVariables decodes the variables after all files were read.
func (p *parser) finishVariables() {
	for _, name := range slices.Sorted(maps.Keys(p.variables)) {
		d := p.variables[name]
		if !d.base {
			r := d.block.DefRange
			p.report(refuse(r, "Missing base variable declaration to override",
				fmt.Sprintf("There is no variable named %q. An override file can only override a variable that is declared in a primary file.", name)))
			continue
		}
		p.module.Variables[name] = p.decode(name, d)
	}
}

func (p *parser) decode(name string, d *draft) *Variable {
	v := &Variable{Name: name, Type: cty.DynamicPseudoType, Nullable: true, Pos: position(d.block.DefRange)}
	_, v.HasDefault = d.attrs["default"]
	if attr := d.attrs["description"]; attr != nil {
		v.Description, _ = literalString(attr.Expr)
	}
	if attr := d.attrs["sensitive"]; attr != nil {
		v.Sensitive = literalBool(attr.Expr, true)
	}
	if attr := d.attrs["ephemeral"]; attr != nil {
		v.Ephemeral = literalBool(attr.Expr, true)
	}
	if attr := d.attrs["nullable"]; attr != nil {
		v.Nullable = literalBool(attr.Expr, true)
	}
	if attr := d.attrs["type"]; attr != nil {
		v.Type, v.Defaults = p.typeOf(attr.Expr)
		v.Written = p.written(attr.Expr)
	}
	if attr := d.attrs["default"]; attr != nil && !v.Sensitive {
		v.Default = constant(attr.Expr)
	}
	return v
}

// typeOf parses a type constraint. One that cannot be read safely counts as `any`: then tofu checks
// the value first.
func (p *parser) typeOf(expr hcl.Expression) (cty.Type, *typeexpr.Defaults) {
	switch hcl.ExprAsKeyword(expr) {
	case "list":
		return cty.List(cty.DynamicPseudoType), nil
	case "map":
		return cty.Map(cty.DynamicPseudoType), nil
	}
	if !safeType(expr) {
		return cty.DynamicPseudoType, nil
	}
	ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
	p.diags = append(p.diags, diags...)
	if diags.HasErrors() {
		return cty.DynamicPseudoType, nil
	}
	return ty, defaults
}

// safeType reports whether a type expression can be evaluated in limited time and memory: defaults
// of optional attributes are expressions.
func safeType(expr hcl.Expression) bool {
	node, native := expr.(hclsyntax.Node)
	if native {
		safe := true
		hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics { //nolint:errcheck // the visitor reports nothing
			switch n.(type) {
			case *hclsyntax.ForExpr, *hclsyntax.TemplateJoinExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.SplatExpr:
				safe = false
			}
			return nil
		})
		return safe
	}
	// In JSON a type is a string with an expression.
	text, ok := literalString(expr)
	if !ok {
		return true
	}
	if tooWild([]byte(text), "") != nil {
		return false
	}
	inner, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	return diags.HasErrors() || safeType(inner)
}

// literalString returns the value of an expression that is a plain string.
func literalString(expr hcl.Expression) (string, bool) {
	value, ok := literal(expr)
	if !ok || value.IsNull() || !value.Type().Equals(cty.String) {
		return "", false
	}
	return value.AsString(), true
}

// literalBool returns the value of true or false, also quoted, and the fallback for anything that
// must be evaluated.
func literalBool(expr hcl.Expression, fallback bool) bool {
	value, ok := literal(expr)
	if !ok || value.IsNull() {
		return fallback
	}
	switch {
	case value.Type().Equals(cty.Bool):
		return value.True()
	case value.Type().Equals(cty.String):
		return value.AsString() == "true"
	}
	return fallback
}

// literal evaluates strings without interpolation, numbers and booleans.
func literal(expr hcl.Expression) (cty.Value, bool) {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return e.Val, true
	case *hclsyntax.TemplateExpr:
		if !e.IsStringLiteral() {
			return cty.NilVal, false
		}
	case hclsyntax.Node:
		return cty.NilVal, false
	}
	value, diags := expr.Value(nil)
	if diags.HasErrors() || !value.IsWhollyKnown() {
		return cty.NilVal, false
	}
	return value, true
}
