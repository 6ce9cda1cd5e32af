// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// safe reports whether no text that results from an expression, or from its elements, can lead out
// of a directory as a part of a path. With first, a path begins with the text, so it must not be
// absolute either.
//
// Texts are concatenated, and ".." can result from a "." at the end of one piece and one at the
// beginning of the next. So a piece must not end in a part that is only a dot. Functions that cut,
// decode or format texts are not followed.
func (v *visitor) safe(e hclsyntax.Expression, names *scope, first bool, hops int) bool {
	if v.far(hops) {
		return false
	}
	hops++
	switch e := unwrapped(e).(type) {
	case *hclsyntax.LiteralValueExpr:
		text, ok := stringOf(e)
		return !ok || safePiece(text, first)
	case *hclsyntax.TemplateExpr:
		for i, part := range e.Parts {
			if !v.safe(part, names, first && i == 0, hops) {
				return false
			}
		}
		return true
	case *hclsyntax.ScopeTraversalExpr:
		return v.safeReference(e, names, first, hops)
	case *hclsyntax.ConditionalExpr:
		return v.safe(e.TrueResult, names, first, hops) && v.safe(e.FalseResult, names, first, hops)
	case *hclsyntax.IndexExpr:
		return v.safe(e.Collection, names, first, hops)
	case *hclsyntax.RelativeTraversalExpr:
		return v.safe(e.Source, names, first, hops)
	case *hclsyntax.TupleConsExpr:
		return v.allSafe(e.Exprs, names, first, hops)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			key := hcl.ExprAsKeyword(item.KeyExpr) != ""
			if !key && !v.safe(item.KeyExpr, names, first, hops) || !v.safe(item.ValueExpr, names, first, hops) {
				return false
			}
		}
		return true
	case *hclsyntax.ForExpr:
		inner := names.with(e.ValVar, e.CollExpr)
		if e.KeyVar != "" {
			inner = inner.with(e.KeyVar, e.CollExpr)
		}
		return (e.KeyExpr == nil || v.safe(e.KeyExpr, inner, first, hops)) && v.safe(e.ValExpr, inner, first, hops)
	case *hclsyntax.FunctionCallExpr:
		return v.safeCall(e, names, first, hops)
	}
	return false
}

func (v *visitor) allSafe(list []hclsyntax.Expression, names *scope, first bool, hops int) bool {
	return every(list, func(e hclsyntax.Expression) bool { return v.safe(e, names, first, hops) })
}

func safePiece(text string, first bool) bool {
	switch {
	case LeavesDirectory(text), text == ".", strings.HasSuffix(text, "/."), strings.ContainsAny(text, "\\\x00"):
		return false
	}
	return !first || !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "~")
}

// safeReference follows known values: what is iterated over, locals, and the root module's
// variables, whose values the caller knows.
func (v *visitor) safeReference(e *hclsyntax.ScopeTraversalExpr, names *scope, first bool, hops int) bool {
	root := e.Traversal.RootName()
	if iterates := names.find(root); iterates != nil {
		// The collection of a for may refer to an outer variable of the same name.
		return v.safe(iterates.over, iterates.outer, first, hops)
	}
	switch root {
	case "count":
		return true
	case "terraform":
		return true // the name of a workspace, which the runner accepts only as one part of a path
	case "local":
		locals := v.localsOf(e)
		return len(locals) > 0 && v.allSafe(locals, nil, first, hops)
	case "var":
		if len(e.Traversal) < 2 {
			return false
		}
		attr, ok := e.Traversal[1].(hcl.TraverseAttr)
		if ok {
			v.reads.variables[attr.Name] = v.at(e.SrcRange)
		}
		return ok
	}
	return false
}

func (v *visitor) safeCall(e *hclsyntax.FunctionCallExpr, names *scope, first bool, hops int) bool {
	switch name := strings.TrimPrefix(e.Name, "core::"); {
	case name == "fileset":
		return true // names below a directory; its arguments are checked at its own position
	case slices.Contains(collections, name):
		return v.allSafe(e.Args, names, first, hops)
	}
	return false
}
