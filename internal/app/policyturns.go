// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	"github.com/yuba-dev/yuba/internal/policy/judge"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// takeTurn takes a turn for one judgement, and limits it.
func (p *policies) takeTurn(ctx context.Context, binding *judge.Binding, s judge.Subject) (limited *judge.Binding, done func(), err error) {
	end, err := p.turn(ctx, binding, s)
	if err != nil {
		return nil, nil, err
	}
	limited, release := binding.Within(ctx)
	return limited, func() { release(); end() }, nil
}

// turn takes a turn for one judgement. A reconcile does not wait for one: its worker is for other stacks,
// too.
func (p *policies) turn(ctx context.Context, binding *judge.Binding, s judge.Subject) (end func(), err error) {
	if stacks.IsPatient(ctx) {
		if end, err = p.judge.Turns.Wait(ctx, s.Namespace, binding.Slow()); err != nil {
			return nil, fmt.Errorf("wait until policies can judge %s: %w", s, err)
		}
		return end, nil
	}
	end, ok := p.judge.Turns.Take(s.Namespace, binding.Slow(), p.now())
	if !ok {
		return nil, stacks.ErrPoliciesBusy
	}
	return end, nil
}
