// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package celrule

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/yuba-dev/yuba/internal/kit/expression"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// variable is the name of the document in expressions.
const variable = "facts"

// timeout is for busy machines: what an evaluation may cost takes less than a second.
const timeout = 20 * time.Second

// Rule is a compiled rule. It is safe for concurrent use.
type Rule struct {
	code    *expression.Expression
	message string
	// fields are the fields of the document that it reads; nil for all.
	fields []string
}

// Compile compiles a rule. The message says what is wrong if the expression is false; the default is
// the expression.
func Compile(text, message string) (*Rule, error) {
	code, err := expression.NewOfAny(text, cel.BoolType, variable)
	if err != nil {
		var wrong *expression.SyntaxError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("line %d, column %d: %s", wrong.Line, wrong.Column, wrong.Message)
		}
		return nil, err
	}
	r := &Rule{code: code, message: message}
	if message == "" {
		r.message = "not " + strings.Join(strings.Fields(text), " ")
	}
	r.message = shorten.Cut(shorten.Line(r.message), 1000)
	whole := false
	for _, access := range code.Reads(variable) {
		if err := declared(reflect.TypeFor[facts.Document](), access, variable); err != nil {
			return nil, err
		}
		if len(access) == 0 {
			whole = true
			continue
		}
		r.fields = append(r.fields, access[0].(string))
	}
	if whole {
		r.fields = nil
	} else if r.fields == nil {
		return nil, errors.New("the expression does not read facts, so it judges nothing")
	}
	return r, nil
}

// declared reports an access to a field that the document does not have.
func declared(of reflect.Type, access expression.Access, path string) error {
	for _, part := range access {
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of == timeType {
			return nil // a map, a list or a value of the plan
		}
		name, ok := part.(string)
		field, known := fieldsOf(of)[name]
		if !ok || !known {
			return fmt.Errorf("%s has no field %v; its fields are %s", path, part, strings.Join(namesOf(of), ", "))
		}
		of, path = field.Type, path+"."+name
	}
	return nil
}

// Verdict is the result of a rule.
type Verdict struct {
	// Message says what is wrong; empty if the plan passes.
	Message string
	// Unknown is true if the rule depends on a value that is unknown or sensitive.
	Unknown bool
}

// Judge evaluates the rule. The error says why that is not possible: then the plan does not pass.
func (r *Rule) Judge(ctx context.Context, f *facts.Document) (Verdict, error) {
	value, err := document(f, r.fields)
	if err != nil {
		return Verdict{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ok, err := r.code.Bool(ctx, map[string]any{variable: value})
	var unknown *expression.UnknownError
	switch {
	case errors.As(err, &unknown):
		return Verdict{Message: fmt.Sprintf("%s; the rule cannot be checked: %s", unknown, r.message), Unknown: true}, nil
	case err != nil:
		return Verdict{}, errors.New(shorten.Cut(shorten.Line(err.Error()), 500))
	case !ok:
		return Verdict{Message: r.message}, nil
	}
	return Verdict{}, nil
}
