// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// Access is a part of a variable that an expression reads, as the names (string) and indexes (int)
// that lead to it. The expression may use everything below it.
type Access []any

// Reads returns which parts of a variable an expression reads, in no order and perhaps several
// times. Names and indexes that are computed end an access: then all of what has them is read.
func (e *Expression) Reads(variable string) []Access {
	r := &reading{variable: variable}
	r.visit(e.parsed.NativeRep().Expr(), false)
	return r.found
}

// Syntax is the expression as it was parsed, with macros expanded. It must not be changed.
func (e *Expression) Syntax() ast.Expr { return e.parsed.NativeRep().Expr() }

type reading struct {
	variable string
	found    []Access
}

// visit collects the accesses in an expression. hidden is set where a loop has a variable of the
// same name.
func (r *reading) visit(e ast.Expr, hidden bool) {
	if access, ok := r.access(e, hidden); ok {
		r.found = append(r.found, access)
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		r.visit(e.AsSelect().Operand(), hidden)
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			r.visit(call.Target(), hidden)
		}
		for _, arg := range call.Args() {
			r.visit(arg, hidden)
		}
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.visit(element, hidden)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.visit(entry.AsMapEntry().Key(), hidden)
			r.visit(entry.AsMapEntry().Value(), hidden)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.visit(field.AsStructField().Value(), hidden)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		r.visit(c.IterRange(), hidden)
		r.visit(c.AccuInit(), hidden)
		within := hidden || c.IterVar() == r.variable || c.IterVar2() == r.variable
		for _, part := range []ast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
			r.visit(part, within)
		}
	}
}

// access returns the access that an expression is: a chain of names and constants after the variable.
func (r *reading) access(e ast.Expr, hidden bool) (Access, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, !hidden && e.AsIdent() == r.variable
	case ast.SelectKind:
		s := e.AsSelect()
		access, ok := r.access(s.Operand(), hidden)
		return append(access, s.FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			if args := call.Args(); len(args) == 2 && args[1].Kind() == ast.LiteralKind {
				return r.element(args[0], args[1], hidden)
			}
		}
	}
	return nil, false
}

func (r *reading) element(of, key ast.Expr, hidden bool) (Access, bool) {
	access, ok := r.access(of, hidden)
	switch key := key.AsLiteral().(type) {
	case types.String:
		return append(access, string(key)), ok
	case types.Int:
		return append(access, int(key)), ok
	}
	return nil, false
}
