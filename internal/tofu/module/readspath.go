// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// scope is an iterating name and what it iterates over, nested in others: "each", a dynamic block's
// iterator, the variables of a for. Nil is the outermost.
type scope struct {
	name  string
	over  hclsyntax.Expression
	outer *scope
}

func (s *scope) with(name string, over hclsyntax.Expression) *scope {
	return &scope{name: name, over: over, outer: s}
}

// find returns the innermost scope of that name; nil if there is none.
func (s *scope) find(name string) *scope {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s
		}
	}
	return nil
}

// block visits everything in a block except the attributes to skip.
func (v *visitor) block(block *hclsyntax.Block, skip []string) {
	var names *scope
	if each := block.Body.Attributes["for_each"]; each != nil {
		names = names.with("each", each.Expr)
	}
	v.inside(block, skip, names)
}

func (v *visitor) inside(block *hclsyntax.Block, skip []string, names *scope) {
	for _, name := range slices.Sorted(maps.Keys(block.Body.Attributes)) {
		if !slices.Contains(skip, name) {
			v.expression(block.Body.Attributes[name].Expr, names)
		}
	}
	for _, inner := range block.Body.Blocks {
		switch {
		case inner.Type == "provisioner":
			v.whole("%s: a provisioner can read anything", v.at(inner.TypeRange))
		case inner.Type == "key_provider" && len(inner.Labels) > 0 && inner.Labels[0] == "external", inner.Type == "method" && len(inner.Labels) > 0 && inner.Labels[0] == "external":
			v.whole("%s: the encryption of the state runs a program, which can read anything", v.at(inner.TypeRange))
		case block.Type == "check" && inner.Type == "data":
			v.data(inner)
		}
		v.inside(inner, nil, iterating(inner, names))
	}
}

// iterating adds the iterator of a dynamic block.
func iterating(block *hclsyntax.Block, names *scope) *scope {
	each := block.Body.Attributes["for_each"]
	if block.Type != "dynamic" || each == nil || len(block.Labels) != 1 {
		return names
	}
	name := block.Labels[0]
	if iterator := block.Body.Attributes["iterator"]; iterator != nil {
		name = hcl.ExprAsKeyword(iterator.Expr)
	}
	return names.with(name, each.Expr)
}

// expression visits every part of an expression.
func (v *visitor) expression(e hclsyntax.Expression, names *scope) {
	w := &expressionWalker{v: v, names: []*scope{names}, outside: map[hclsyntax.Expression]*scope{}}
	hclsyntax.Walk(e, w) //nolint:errcheck // the walker reports nothing
}

// expressionWalker tracks the variables of for expressions.
type expressionWalker struct {
	v     *visitor
	names []*scope
	// outside maps the collections of enclosing for expressions to the scope outside of them.
	outside map[hclsyntax.Expression]*scope
}

// Enter visits a node before its children.
func (w *expressionWalker) Enter(node hclsyntax.Node) hcl.Diagnostics {
	if e, ok := node.(hclsyntax.Expression); ok {
		if outside, found := w.outside[e]; found {
			w.names = append(w.names, outside)
		}
	}
	v, names := w.v, w.names[len(w.names)-1]
	switch e := node.(type) {
	case *hclsyntax.ForExpr:
		w.outside[e.CollExpr] = names
		names = names.with(e.ValVar, e.CollExpr)
		if e.KeyVar != "" {
			names = names.with(e.KeyVar, e.CollExpr)
		}
		w.names = append(w.names, names)
	case *hclsyntax.LiteralValueExpr:
		text, ok := stringOf(e)
		if ok && LeavesDirectory(text) {
			v.whole("%s: %q may lead out of its directory", v.at(e.SrcRange), shorten.Cut(text, 60))
		}
		v.reads.files = v.reads.files || strings.Contains(text, ".terraform")
	case *hclsyntax.TemplateExpr:
		v.template(e)
	case *hclsyntax.ScopeTraversalExpr:
		a := pathAttribute(e)
		v.reads.files = v.reads.files || a != ""
		if a != "" && a != "module" && a != "root" {
			v.whole("%s: path.%s is not a path inside of the source", v.at(e.SrcRange), a)
		}
	case *hclsyntax.FunctionCallExpr:
		v.call(e, names)
	}
	return nil
}

// Exit is called after a node's children.
func (w *expressionWalker) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(*hclsyntax.ForExpr); ok {
		w.names = w.names[:len(w.names)-1]
	}
	if e, ok := node.(hclsyntax.Expression); ok {
		if _, found := w.outside[e]; found {
			delete(w.outside, e)
			w.names = w.names[:len(w.names)-1]
		}
	}
	return nil
}

// template checks how a module's path is used in a string: as the beginning of a path below it, or
// otherwise.
func (v *visitor) template(e *hclsyntax.TemplateExpr) {
	for i, part := range e.Parts {
		if pathAttribute(part) == "" {
			continue
		}
		if i > 0 || !followedBySlash(e, 0) {
			v.whole("%s: a path built from path.%s may lead anywhere", v.at(e.SrcRange), pathAttribute(part))
		}
	}
}

func followedBySlash(e *hclsyntax.TemplateExpr, i int) bool {
	if i+1 >= len(e.Parts) {
		return true
	}
	text, ok := stringOf(e.Parts[i+1])
	return ok && strings.HasPrefix(text, "/")
}

// fileFunctions read files, worldFunctions have changing results, wayOut create paths that may lead
// anywhere, and collections pass on their arguments.
var (
	fileFunctions = []string{"file", "filebase64", "fileexists", "filemd5", "filesha1", "filesha256", "filesha512", "filebase64sha256",
		"filebase64sha512", "templatefile", "fileset"}
	worldFunctions = []string{"timestamp", "plantimestamp", "uuid", "bcrypt"}
	wayOut         = []string{"abspath", "dirname", "pathexpand"}
	collections    = []string{"toset", "tolist", "tomap", "merge", "concat", "keys", "values", "distinct", "flatten", "sort", "reverse", "setunion",
		"setintersection", "setsubtract", "setproduct", "compact", "lookup", "element", "coalesce", "coalescelist", "try", "one", "lower", "upper",
		"title", "tostring", "zipmap", "slice", "chunklist", "can", "sensitive", "nonsensitive"}
)

func (v *visitor) call(e *hclsyntax.FunctionCallExpr, names *scope) {
	name, at := strings.TrimPrefix(e.Name, "core::"), v.at(e.NameRange)
	switch {
	case slices.Contains(worldFunctions, name):
		v.world(name+"()", at)
	case strings.HasPrefix(name, "provider::") && !strings.HasPrefix(name, "provider::terraform::"):
		v.world(name+"()", at)
	case name == "templatestring":
		v.world(name+"()", at)
		v.whole("%s: the template of templatestring() cannot be determined", at)
	case slices.Contains(wayOut, name):
		v.whole("%s: %s() creates paths that may lead anywhere", at, name)
	case slices.Contains(fileFunctions, name):
		v.fileCall(name, e, names)
		return
	}
	if slices.Contains(collections, name) {
		return
	}
	for _, arg := range e.Args {
		if attribute := pathAttribute(unwrapped(arg)); attribute != "" {
			v.whole("%s: %s() of path.%s may lead anywhere", at, name, attribute)
		}
	}
}

// fileCall checks the path of a function that reads files.
func (v *visitor) fileCall(name string, e *hclsyntax.FunctionCallExpr, names *scope) {
	at := v.at(e.NameRange)
	v.reads.files = true
	if len(e.Args) == 0 || e.ExpandFinal {
		v.whole("%s: the file that %s() reads cannot be determined", at, name)
		return
	}
	if text, ok := literalString(e.Args[0]); ok && (strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~")) {
		v.world(name+"() of "+shorten.Cut(text, 60), at)
	}
	if !v.insidePath(e.Args[0], names, 0) {
		v.whole("%s: the file that %s() reads cannot be determined", at, name)
	}
	if name == "templatefile" {
		v.rendered(e.Args[0])
	}
	if name == "fileset" && (len(e.Args) != 2 || !v.safe(e.Args[1], names, true, 0)) {
		v.whole("%s: the files that fileset() finds cannot be determined", at)
	}
}

// maxTemplates limits the distinct templates of one directory.
const maxTemplates = 1000

// rendered records the file of a template.
func (v *visitor) rendered(e hclsyntax.Expression) {
	if len(v.reads.templates) >= maxTemplates {
		v.reads.anyTemplate = true
		return
	}
	if text, ok := literalString(e); ok {
		v.reads.templates = append(v.reads.templates, templateRef{text, true})
		return
	}
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || len(t.Parts) != 2 {
		v.reads.anyTemplate = true
		return
	}
	text, plain := stringOf(t.Parts[1])
	base := pathAttribute(t.Parts[0])
	if !plain || base != "module" && base != "root" {
		v.reads.anyTemplate = true
		return
	}
	v.reads.templates = append(v.reads.templates, templateRef{path.Clean(strings.TrimLeft(text, "/")), base == "root"})
}

// maxHops limits how deep locals are followed, maxSteps the expressions visited on the way, in one
// directory: ten locals that each name the next a hundred times cannot be followed.
const (
	maxHops  = 20
	maxSteps = 200_000
)

// far counts a step, and reports whether a limit is reached.
func (v *visitor) far(hops int) bool {
	v.steps++
	return hops > maxHops || v.steps > maxSteps
}

// insidePath reports whether a path stays inside of its module.
func (v *visitor) insidePath(e hclsyntax.Expression, names *scope, hops int) bool {
	if v.far(hops) {
		return false
	}
	e = unwrapped(e)
	if text, ok := literalString(e); ok {
		return !LeavesDirectory(text) && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "~")
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		if a := pathAttribute(e); a != "" {
			return a == "module" || a == "root"
		}
		if locals := v.localsOf(e); len(locals) > 0 {
			return every(locals, func(local hclsyntax.Expression) bool { return v.insidePath(local, nil, hops+1) })
		}
	case *hclsyntax.ConditionalExpr:
		return v.insidePath(e.TrueResult, names, hops+1) && v.insidePath(e.FalseResult, names, hops+1)
	case *hclsyntax.TemplateExpr:
		if v.beginsInside(e.Parts[0], hops) && followedBySlash(e, 0) {
			return v.allSafe(e.Parts[1:], names, false, hops+1)
		}
	}
	return v.safe(e, names, true, hops+1)
}

// beginsInside reports whether a part is the path of a module, also through a local.
func (v *visitor) beginsInside(part hclsyntax.Expression, hops int) bool {
	part = unwrapped(part)
	if a := pathAttribute(part); a != "" {
		return a == "module" || a == "root"
	}
	t, ok := part.(*hclsyntax.ScopeTraversalExpr)
	if !ok || v.far(hops) {
		return false
	}
	locals := v.localsOf(t)
	return len(locals) > 0 && every(locals, func(local hclsyntax.Expression) bool {
		inner := unwrapped(local)
		if begin, ok := inner.(*hclsyntax.TemplateExpr); ok && len(begin.Parts) > 0 {
			return v.beginsInside(begin.Parts[0], hops+1) && followedBySlash(begin, 0) && v.allSafe(begin.Parts[1:], nil, false, hops+1)
		}
		return v.beginsInside(inner, hops+1)
	})
}

func every(list []hclsyntax.Expression, holds func(hclsyntax.Expression) bool) bool {
	return !slices.ContainsFunc(list, func(e hclsyntax.Expression) bool { return !holds(e) })
}

// localsOf returns all values of a local: an override sets another one, and all must be safe
// regardless of which one the tool uses.
func (v *visitor) localsOf(e *hclsyntax.ScopeTraversalExpr) []hclsyntax.Expression {
	if e.Traversal.RootName() != "local" || len(e.Traversal) < 2 {
		return nil
	}
	attr, ok := e.Traversal[1].(hcl.TraverseAttr)
	if !ok {
		return nil
	}
	return v.locals[attr.Name]
}

// pathAttribute returns the attribute of the object "path" in an expression; "" if it is another
// object.
func pathAttribute(e hclsyntax.Node) string {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok || t.Traversal.RootName() != "path" {
		return ""
	}
	if len(t.Traversal) == 2 {
		if attr, ok := t.Traversal[1].(hcl.TraverseAttr); ok {
			return attr.Name
		}
	}
	return "*"
}

func unwrapped(e hclsyntax.Expression) hclsyntax.Expression {
	for {
		switch inner := e.(type) {
		case *hclsyntax.ParenthesesExpr:
			e = inner.Expression
		case *hclsyntax.TemplateWrapExpr:
			e = inner.Wrapped
		case *hclsyntax.ObjectConsKeyExpr:
			e = inner.Wrapped
		default:
			return e
		}
	}
}

func stringOf(e hclsyntax.Node) (string, bool) {
	l, ok := e.(*hclsyntax.LiteralValueExpr)
	if !ok || l.Val.IsNull() || !l.Val.IsKnown() || !l.Val.Type().Equals(cty.String) {
		return "", false
	}
	return l.Val.AsString(), true
}
