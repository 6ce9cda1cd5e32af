// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"maps"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// maxType limits the nesting of a type. The checker writes out each type, and a short text can
// double it with every step: [1].map(x, {x: x}).map(x, {x: x})… Data has nesting one.
const maxType = 32

// measure estimates the size of an expression's types before they are checked.
type measure struct {
	functions map[string]*decls.FunctionDecl
	// vars are the sizes of loop variables.
	vars map[string]int
}

// tooDeep reports whether a type in the parsed expression may be too large to check.
func tooDeep(env *cel.Env, parsed *cel.Ast) bool {
	m := measure{functions: env.Functions()}
	return m.size(parsed.NativeRep().Expr()) > maxType
}

// largest returns the largest size of several types.
func (m measure) largest(of ...ast.Expr) int {
	size := 1
	for _, one := range of {
		size = max(size, m.size(one))
	}
	return size
}

// size returns the size of an expression's type, or more than maxType if a part of it is too large.
func (m measure) size(e ast.Expr) int {
	switch e.Kind() {
	case ast.IdentKind:
		return max(1, m.vars[e.AsIdent()])
	case ast.SelectKind:
		return inside(m.size(e.AsSelect().Operand()))
	case ast.ListKind:
		return around(m.largest(e.AsList().Elements()...))
	case ast.MapKind:
		keys, values := 1, 1
		for _, entry := range e.AsMap().Entries() {
			keys = max(keys, m.size(entry.AsMapEntry().Key()))
			values = max(values, m.size(entry.AsMapEntry().Value()))
		}
		return around(min(keys+values, maxType))
	case ast.CallKind:
		return m.call(e.AsCall())
	case ast.ComprehensionKind:
		return m.loop(e.AsComprehension())
	}
	return 1
}

func (m measure) call(call ast.CallExpr) int {
	size := m.largest(call.Args()...)
	if call.IsMemberFunction() {
		size = max(size, m.size(call.Target()))
	}
	switch name := call.FunctionName(); {
	case size > maxType:
		return size
	case m.isFlat(name):
		return 1
	case name == operators.Index:
		return inside(size)
	case name == "of", name == "ofNonZeroValue", name == operators.OptSelect, name == operators.OptIndex:
		return around(size) // an optional
	}
	return size
}

// isFlat reports whether a function returns only a boolean, a number or a string, or a dynamic
// type.
func (m measure) isFlat(function string) bool {
	declared := m.functions[function]
	if declared == nil {
		return false
	}
	for _, overload := range declared.OverloadDecls() {
		switch overload.ResultType().Kind() {
		case types.ListKind, types.MapKind, types.OpaqueKind, types.TypeParamKind, types.TypeKind:
			return false
		}
	}
	return true
}

func (m measure) loop(c ast.ComprehensionExpr) int {
	over := m.size(c.IterRange())
	if over > maxType {
		return over
	}
	within := measure{m.functions, map[string]int{}}
	maps.Copy(within.vars, m.vars)
	within.vars[c.IterVar()], within.vars[c.IterVar2()] = inside(over), inside(over)
	within.vars[c.AccuVar()] = m.size(c.AccuInit())
	// The accumulator has the type of the first step.
	within.vars[c.AccuVar()] = within.largest(c.AccuInit(), c.LoopStep())
	return within.largest(c.LoopCondition(), c.Result())
}

// around returns the size of a list of a type, within the maximum.
func around(size int) int { return min(size+1, maxType+1) }

func inside(size int) int {
	if size > maxType {
		return size
	}
	return max(1, size-1)
}
