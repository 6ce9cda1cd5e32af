// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// NewValue compiles an expression with a value of any type over variables that may be anything.
func NewValue(text string, variables ...string) (*Expression, error) {
	return compile(text, nil, cel.DynType, variables...)
}

// maxValue limits the written form of a value, and maxNesting its depth.
const maxValue, maxNesting = 1 << 20, 64

// Value evaluates an expression, and returns its value as JSON decodes it: integers stay int64. There is
// none if the value is an optional without one.
func (e *Expression) Value(ctx context.Context, values map[string]any) (value any, some bool, err error) {
	result, err := e.evaluate(ctx, values)
	if err != nil {
		return nil, false, err
	}
	if optional, ok := result.(*types.Optional); ok {
		if !optional.HasValue() {
			return nil, false, nil
		}
		result = optional.GetValue()
	}
	n := native{left: maxValue}
	if value, err = n.of(result, 0); err != nil {
		return nil, false, fmt.Errorf("failed to evaluate the CEL expression '%s': %w", e.text, err)
	}
	return value, true, nil
}

// native converts a value. Lists and maps that contain another one several times grow by that.
type native struct{ left int }

func (n *native) of(value ref.Val, depth int) (any, error) {
	if n.left -= elementBytes + text(value); n.left < 0 || depth > maxNesting {
		return nil, fmt.Errorf("its value has more than %d bytes, or is nested more than %d deep", maxValue, maxNesting)
	}
	switch v := value.(type) {
	case types.Null:
		return nil, nil //nolint:nilnil // the value null
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("its value is greater than %d", math.MaxInt64)
		}
		return int64(v), nil
	case types.Double:
		return float64(v), nil
	case types.String:
		return string(v), nil
	case traits.Mapper:
		return n.object(v, depth)
	case traits.Lister:
		list := []any{}
		for i := v.Iterator(); i.HasNext() == types.True; {
			element, err := n.of(i.Next(), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		return list, nil
	}
	return nil, fmt.Errorf("its value has the type %s, which JSON does not have", value.Type().TypeName())
}

func (n *native) object(v traits.Mapper, depth int) (any, error) {
	object := map[string]any{}
	for i := v.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("a key of its value has the type %s; keys are texts", key.Type().TypeName())
		}
		element, err := n.of(v.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		n.left -= len(name)
		object[string(name)] = element
	}
	return object, nil
}
