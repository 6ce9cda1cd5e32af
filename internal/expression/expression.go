// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// Expression is compiled. It may be evaluated by many at the same time.
type Expression struct {
	text    string
	program cel.Program
}

// interruptEvery is after how many rounds of a loop the context is looked at, as in Kubernetes.
const interruptEvery = 100

// New compiles an expression whose value is of a type. Its variables are objects.
func New(text string, output *cel.Type, variables ...string) (*Expression, error) {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(),
	}
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.ObjectType("google.protobuf.Struct")))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("failed to create CEL environment: %w", err)
	}
	compiled, issues := env.Compile(text)
	if issues != nil {
		return nil, fmt.Errorf("failed to parse the CEL expression '%s': %s", text, issues.String())
	}
	if got := compiled.OutputType(); got != output {
		return nil, fmt.Errorf("CEL expression output type mismatch: expected %s, got %s", output, got)
	}
	// Constants are not folded: that would happen here, where nothing ends it.
	program, err := env.Program(compiled, cel.InterruptCheckFrequency(interruptEvery), cel.CustomDecoratorV2(watched))
	if err != nil {
		return nil, fmt.Errorf("failed to create CEL program: %w", err)
	}
	return &Expression{text, program}, nil
}

// Bool evaluates an expression that is a truth.
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

// Text evaluates an expression that is a text.
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
	all := map[string]any{purseName: &purse{left: maxBytes}}
	for name, value := range values {
		all[name] = value
	}
	value, _, err := e.program.ContextEval(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("failed to evaluate the CEL expression '%s': %w", e.text, err)
	}
	return value, nil
}
