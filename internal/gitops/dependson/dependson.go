// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dependson

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/kit/expression"
)

// Cycle returns a shortest cycle of dependencies that begins with an object, which is not repeated at its
// end; nil if there is none. The function of returns the dependencies of an object.
func Cycle(own types.NamespacedName, of func(types.NamespacedName) ([]types.NamespacedName, error)) ([]string, error) {
	// from maps each object to the one that depends on it.
	from := map[types.NamespacedName]types.NamespacedName{}
	for queue := []types.NamespacedName{own}; len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		dependencies, err := of(name)
		if err != nil {
			return nil, err
		}
		for _, next := range dependencies {
			if next == own {
				return way(from, own, name), nil
			}
			if _, seen := from[next]; !seen {
				from[next] = name
				queue = append(queue, next)
			}
		}
	}
	return nil, nil
}

// way names the objects from the first to the last.
func way(from map[types.NamespacedName]types.NamespacedName, first, last types.NamespacedName) []string {
	names := []string{last.String()}
	for last != first {
		last = from[last]
		names = append([]string{last.String()}, names...)
	}
	return names
}

// timeout limits expressions, whose authors are not trusted.
const timeout = time.Second

// Ready is a compiled readyExpr.
type Ready struct{ expression *expression.Expression }

// NewReady compiles a readyExpr; nil for an empty one.
func NewReady(text string) (*Ready, error) {
	if text == "" {
		return nil, nil
	}
	e, err := expression.New(text, cel.BoolType, "self", "dep")
	if err != nil {
		return nil, err
	}
	return &Ready{e}, nil
}

// Holds evaluates the expression for an object and its dependency.
func (r *Ready) Holds(ctx context.Context, self, dep any) (bool, error) {
	vars := map[string]any{}
	for name, obj := range map[string]any{"self": self, "dep": dep} {
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return false, fmt.Errorf("failed to convert %s object to map: %w", name, err)
		}
		vars[name] = m
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ok, err := r.expression.Bool(ctx, vars)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false, fmt.Errorf("the expression took longer than %s", timeout)
	}
	return ok, err
}
