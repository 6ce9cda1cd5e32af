// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Wiring is how a module is connected with the modules that it calls, as it is written.
type Wiring struct {
	// Calls are sorted by name.
	Calls []WiredCall
	// Uses are the references to outputs of calls, in the order of files and lines.
	Uses []OutputUse
	// Providers are the configurations that the module has: "aws", "aws.west".
	Providers map[string]ProviderBlock
	// Skipped are files that were not read: JSON, and files with errors.
	Skipped []string
}

// WiredCall is a call of a module with what it passes.
type WiredCall struct {
	PlacedCall
	// Arguments are what the call sets besides meta-arguments.
	Arguments map[string]Argument
	// Providers are the configurations that the call passes, by the names that the called module
	// uses; nil if it passes none explicitly.
	Providers map[string]Passed
	// Repeated is true for a call with count or for_each.
	Repeated bool
}

// Argument is a value for a variable of a called module.
type Argument struct {
	Pos Position
	// value is unknown as far as it is not literal.
	value cty.Value
}

// Passed is a provider configuration that a call passes.
type Passed struct {
	// Name is that of the caller's configuration: "aws.west".
	Name string
	Pos  Position
}

// OutputUse is a reference to an output of a call.
type OutputUse struct {
	Call, Output string
	Pos          Position
}

// ProviderBlock is a block that configures a provider.
type ProviderBlock struct {
	Pos Position
	// Blocks are the names of the blocks in it, sorted.
	Blocks []string
}

// metaArguments are arguments of module blocks that are no variables. enabled is in a lifecycle block.
var metaArguments = []string{"source", "version", "providers", "count", "for_each", "depends_on"}

// ReadWiring reads how a module is connected. files are the configuration files of one directory, m is
// what Parse made of them.
func ReadWiring(files map[string][]byte, m *Module) (w *Wiring, list diagnostic.List) {
	r := &wirer{parser: newParser(), module: m, calls: map[string]*WiredCall{},
		wiring: Wiring{Providers: map[string]ProviderBlock{}}}
	defer func() {
		if problem := recover(); problem != nil {
			w, list = &Wiring{}, complain("Configuration cannot be read", fmt.Sprintf("Reading the module stopped: %v. This is a bug in Yuba.", problem))
		}
	}()
	primary, override := selectFiles(files)
	for _, name := range slices.Concat(primary, override) {
		file := r.parser.parse(name, files[name])
		body, native := bodyOf(file)
		if !native || r.parser.diags.HasErrors() {
			r.wiring.Skipped = append(r.wiring.Skipped, name)
			r.parser.diags = nil
			continue
		}
		r.file(body)
	}
	for _, name := range slices.Sorted(maps.Keys(r.calls)) {
		r.wiring.Calls = append(r.wiring.Calls, *r.calls[name])
	}
	return &r.wiring, nil
}

func bodyOf(file *hcl.File) (body *hclsyntax.Body, native bool) {
	if file == nil {
		return nil, false
	}
	body, native = file.Body.(*hclsyntax.Body)
	return body, native
}

// wirer collects the wiring of a module.
type wirer struct {
	parser *parser
	module *Module
	calls  map[string]*WiredCall
	wiring Wiring
}

func (r *wirer) file(body *hclsyntax.Body) {
	for _, block := range body.Blocks {
		switch {
		case block.Type == "module" && len(block.Labels) == 1:
			r.call(block)
		case block.Type == "provider" && len(block.Labels) == 1:
			r.provider(block)
		}
	}
	u := &uses{scopes: map[string][]string{}}
	_ = hclsyntax.Walk(body, u) // its only errors are those of u, which has none
	r.wiring.Uses = append(r.wiring.Uses, u.found...)
}

func (r *wirer) call(block *hclsyntax.Block) {
	name := block.Labels[0]
	c := r.calls[name]
	if c == nil {
		c = &WiredCall{PlacedCall: PlacedCall{Name: name, Pos: position(block.DefRange())}, Arguments: map[string]Argument{}}
		r.calls[name] = c
	}
	for key, attr := range block.Body.Attributes {
		switch key {
		case "source":
			c.Source, c.Computed = literalText(attr.Expr, c.Computed)
		case "version":
			c.Version, c.Computed = literalText(attr.Expr, c.Computed)
		case "count", "for_each":
			c.Repeated = true
		case "providers":
			c.Providers = passed(attr.Expr)
		default:
			if !slices.Contains(metaArguments, key) {
				c.Arguments[key] = Argument{Pos: position(attr.NameRange), value: r.known(attr.Expr, 0)}
			}
		}
	}
}

// literalText is the text of an expression; computed is set if it is not literal.
func literalText(expr hclsyntax.Expression, computed bool) (string, bool) {
	text, ok := literalString(expr)
	return text, computed || !ok
}

// passed reads the argument providers of a call.
func passed(expr hclsyntax.Expression) map[string]Passed {
	object, ok := expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return map[string]Passed{}
	}
	found := map[string]Passed{}
	for _, item := range object.Items {
		if key, value := reference(item.KeyExpr), reference(item.ValueExpr); key != "" && value != "" {
			found[key] = Passed{Name: value, Pos: position(item.KeyExpr.Range())}
		}
	}
	return found
}

// reference is a name such as "aws.west"; empty if the expression is none.
func reference(expr hclsyntax.Expression) string {
	if key, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok {
		expr = key.Wrapped
	}
	if text, ok := literalString(expr); ok {
		return text
	}
	scope, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return ""
	}
	var names []string
	for _, step := range scope.Traversal {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		default:
			return ""
		}
	}
	return strings.Join(names, ".")
}

func (r *wirer) provider(block *hclsyntax.Block) {
	name := block.Labels[0]
	if attr := block.Body.Attributes["alias"]; attr != nil {
		if alias, ok := literalString(attr.Expr); ok {
			name += "." + alias
		}
	}
	p := ProviderBlock{Pos: position(block.DefRange())}
	for _, inner := range block.Body.Blocks {
		p.Blocks = append(p.Blocks, inner.Type)
	}
	slices.Sort(p.Blocks)
	p.Blocks = slices.Compact(p.Blocks)
	r.wiring.Providers[name] = p
}

// maxKnown limits the nesting of values that are read.
const maxKnown = 32

// known is the value of an expression, unknown as far as it is not literal: expressions are not
// evaluated, because a few lines of them can exceed any machine.
func (r *wirer) known(expr hclsyntax.Expression, depth int) cty.Value {
	if depth > maxKnown {
		return cty.DynamicVal
	}
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return e.Val
	case *hclsyntax.ParenthesesExpr:
		return r.known(e.Expression, depth+1)
	case *hclsyntax.TemplateExpr:
		if text, ok := literalString(e); ok {
			return cty.StringVal(text)
		}
		return cty.UnknownVal(cty.String)
	case *hclsyntax.TupleConsExpr:
		items := make([]cty.Value, 0, len(e.Exprs))
		for _, item := range e.Exprs {
			items = append(items, r.known(item, depth+1))
		}
		return cty.TupleVal(items)
	case *hclsyntax.ObjectConsExpr:
		return r.object(e, depth)
	case *hclsyntax.ScopeTraversalExpr:
		return r.variable(e.Traversal)
	}
	return cty.DynamicVal
}

func (r *wirer) object(e *hclsyntax.ObjectConsExpr, depth int) cty.Value {
	attributes := map[string]cty.Value{}
	for _, item := range e.Items {
		key := hcl.ExprAsKeyword(item.KeyExpr)
		if key == "" {
			text, ok := literalString(item.KeyExpr)
			if !ok {
				return cty.DynamicVal
			}
			key = text
		}
		attributes[key] = r.known(item.ValueExpr, depth+1)
	}
	return cty.ObjectVal(attributes)
}

// variable is the unknown value of a reference to a whole variable, whose type is declared.
func (r *wirer) variable(t hcl.Traversal) cty.Value {
	if len(t) != 2 || t.RootName() != "var" {
		return cty.DynamicVal
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		return cty.DynamicVal
	}
	v := r.module.Variables[name.Name]
	if v == nil || v.Type.HasDynamicTypes() {
		return cty.DynamicVal
	}
	return cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep())
}

// Misfit says why the variable does not take an argument; empty if it does, or if that is not known.
// Extra are the attributes of an object that the variable does not have: tofu drops them silently.
func (v *Variable) Misfit(a Argument) (why string, extra []string) {
	value := a.value
	if value.IsNull() {
		if !v.Nullable && !v.HasDefault {
			return "null is not allowed (nullable = false)", nil
		}
		return "", nil
	}
	extra = extraAttributes(value.Type(), v.Type, "")
	if v.Defaults != nil && value.IsKnown() {
		value = v.Defaults.Apply(value)
	}
	if _, err := convert.Convert(value, v.Type); err != nil {
		return place(err) + reason(err, v), extra
	}
	return "", extra
}

// extraAttributes are the paths of attributes that a type has and the wanted one has not.
func extraAttributes(have, want cty.Type, at string) (paths []string) {
	switch {
	case !have.IsObjectType():
		return nil
	case want.IsMapType():
		for name, inner := range have.AttributeTypes() {
			paths = append(paths, extraAttributes(inner, want.ElementType(), at+"."+name)...)
		}
	case want.IsObjectType():
		for name, inner := range have.AttributeTypes() {
			if !want.HasAttribute(name) {
				paths = append(paths, strings.TrimPrefix(at+"."+name, "."))
				continue
			}
			paths = append(paths, extraAttributes(inner, want.AttributeType(name), at+"."+name)...)
		}
	}
	slices.Sort(paths)
	return paths
}

// uses finds references to outputs of calls. In a for expression over a call, they go through the
// expression's own names.
type uses struct {
	found []OutputUse
	// scopes are the calls that the names of for expressions stand for, the innermost last.
	scopes map[string][]string
}

// Enter implements hclsyntax.Walker.
func (u *uses) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch e := node.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		u.traversal(e.Traversal)
	case *hclsyntax.RelativeTraversalExpr:
		// module.NAME[each.key].OUTPUT
		if index, ok := e.Source.(*hclsyntax.IndexExpr); ok {
			u.use(callOf(index.Collection), e.Traversal)
		}
	case *hclsyntax.SplatExpr:
		// module.NAME[*].OUTPUT
		if each, ok := e.Each.(*hclsyntax.RelativeTraversalExpr); ok {
			u.use(callOf(e.Source), each.Traversal)
		}
	case *hclsyntax.ForExpr:
		u.scopes[e.ValVar] = append(u.scopes[e.ValVar], callOf(e.CollExpr))
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (u *uses) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if e, ok := node.(*hclsyntax.ForExpr); ok {
		stack := u.scopes[e.ValVar]
		u.scopes[e.ValVar] = stack[:len(stack)-1]
	}
	return nil
}

func (u *uses) traversal(t hcl.Traversal) {
	if stack := u.scopes[t.RootName()]; len(stack) > 0 {
		u.use(stack[len(stack)-1], t[1:])
		return
	}
	if t.RootName() != "module" || len(t) < 3 {
		return
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		return
	}
	rest := t[2:]
	if _, index := rest[0].(hcl.TraverseIndex); index {
		rest = rest[1:]
	}
	u.use(name.Name, rest)
}

// use records a use of the output that a path begins with.
func (u *uses) use(call string, path hcl.Traversal) {
	if call == "" || len(path) == 0 {
		return
	}
	if output, ok := path[0].(hcl.TraverseAttr); ok {
		u.found = append(u.found, OutputUse{Call: call, Output: output.Name, Pos: position(output.SrcRange)})
	}
}

// callOf is the name in module.NAME; empty for other expressions.
func callOf(expr hclsyntax.Expression) string {
	scope, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(scope.Traversal) != 2 || scope.Traversal.RootName() != "module" {
		return ""
	}
	name, _ := scope.Traversal[1].(hcl.TraverseAttr)
	return name.Name
}

// Compare orders positions by file and line.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.File, other.File), cmp.Compare(p.Line, other.Line))
}
