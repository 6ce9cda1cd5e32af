// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
)

// Moved says which of the parts that a run read have changed since, by their variables; empty for
// none. It knows the stack's program from its status.
func (b *Book) Moved(ctx context.Context, t *infrav1.Terraform, parts map[string]string) (string, error) {
	now, err := b.Consume(ctx, t, func(name string) (v shape.Variable, declared, known bool) {
		i := slices.IndexFunc(consumes(t), func(c infrav1.ConsumedContract) bool { return c.As == name })
		if i < 0 || consumes(t)[i].Type == "" {
			return v, false, false
		}
		v, err := b.variableOf(&consumes(t)[i])
		return v, err == nil, err == nil
	})
	switch {
	case err != nil:
		return "", err
	case now.Problem != "":
		return now.Problem, nil
	case now.Waiting != "":
		return now.Waiting, nil
	}
	for _, pin := range now.Pins {
		if parts[pin.As] != pin.Part {
			return fmt.Sprintf("contract %s of %s has changed since the plan read it", pin.Contract, pin.From), nil
		}
	}
	return "", nil
}
