// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
	parsed  *cel.Ast
}

// interruptEvery is the number of loop iterations between checks of the context, as in Kubernetes.
const interruptEvery = 100

// maxText is the maximum length of an expression.
const maxText = 16 << 10

// New compiles an expression with a value of type output. Its variables are objects.
func New(text string, output *cel.Type, variables ...string) (*Expression, error) {
	return compile(text, output, cel.ObjectType("google.protobuf.Struct"), variables...)
}

// NewOfAny is New for variables that may be anything: objects, lists, numbers and texts.
func NewOfAny(text string, output *cel.Type, variables ...string) (*Expression, error) {
	return compile(text, output, cel.DynType, variables...)
}

func compile(text string, output, variable *cel.Type, variables ...string) (*Expression, error) {
	env, parsed, err := parse(text, variable, variables...)
	if err != nil {
		return nil, err
	}
	if tooDeep(env, parsed) {
		return nil, fmt.Errorf("failed to parse the CEL expression '%s': its types are nested more than %d deep; dyn() around an inner one hides its type", text, maxType)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, syntaxError(issues, fmt.Sprintf("failed to parse the CEL expression '%s': %s", text, issues.String()))
	}
	if got := checked.OutputType(); output != nil && got != output {
		return nil, fmt.Errorf("CEL expression output type mismatch: expected %s, got %s", output, got)
	}
	return plan(env, checked, parsed, text)
}

// Parse compiles an expression without checking types and variables.
func Parse(text string) (*Expression, error) {
	env, parsed, err := parse(text, cel.DynType)
	if err != nil {
		return nil, err
	}
	return plan(env, parsed, parsed, text)
}

func parse(text string, variable *cel.Type, variables ...string) (*cel.Env, *cel.Ast, error) {
	if len(text) > maxText {
		return nil, nil, fmt.Errorf("the expression has %d bytes: at most %d are allowed", len(text), maxText)
	}
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(),
	}
	for _, name := range variables {
		options = append(options, cel.Variable(name, variable))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to create CEL environment: %w", err)
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, nil, syntaxError(issues, fmt.Sprintf("failed to parse the CEL expression '%s': %s", text, issues.String()))
	}
	return env, parsed, nil
}

// plan makes a program that pays for its work. It does not fold constants: that would happen at
// compile time, where nothing limits it.
func plan(env *cel.Env, from, parsed *cel.Ast, text string) (*Expression, error) {
	program, err := env.Program(from, cel.InterruptCheckFrequency(interruptEvery), cel.CustomDecoratorV2(watched))
	if err != nil {
		return nil, fmt.Errorf("failed to create CEL program: %w", err)
	}
	return &Expression{text, program, parsed}, nil
}

// Bool evaluates a boolean expression.
func (e *Expression) Bool(ctx context.Context, values map[string]any) (bool, error) {
	value, err := e.evaluate(ctx, values)
	if err != nil {
		return false, err
	}
	result, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("failed to evaluate CEL expression as boolean: '%s'", e.text)
	}
	return bool(result), nil
}

// Text evaluates a string expression.
func (e *Expression) Text(ctx context.Context, values map[string]any) (string, error) {
	value, err := e.evaluate(ctx, values)
	if err != nil {
		return "", err
	}
	result, ok := value.(types.String)
	if !ok {
		return "", fmt.Errorf("failed to evaluate CEL expression as string: '%s'", e.text)
	}
	return string(result), nil
}

func (e *Expression) evaluate(ctx context.Context, values map[string]any) (ref.Val, error) {
	all := map[string]any{}
	maps.Copy(all, values)
	all[purseName] = newPurse(ctx)
	value, _, err := e.program.ContextEval(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("failed to evaluate the CEL expression '%s': %w", e.text, err)
	}
	return value, nil
}
