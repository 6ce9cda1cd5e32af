// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"strings"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/rules"
)

const (
	// budget limits the custom rules of all policies in one judgement. Three bundles may use all the
	// time that one may have.
	budget = 15 * time.Second
	// budgetRetry is when a judgement that exceeded it is repeated: the server may have been busy.
	budgetRetry = 2 * time.Minute
)

// BudgetError means that custom rules took too long together.
type BudgetError struct{ Limit time.Duration }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the custom rules of all policies of the stack took more than %s together, so this one was not evaluated. "+
		"Yuba tries again in %s; simplify or remove slow rules", e.Limit, budgetRetry)
}

// Within returns the binding for one judgement, which ends with the context, and whose custom rules
// have a budget of time. Call done after it.
func (b *Binding) Within(ctx context.Context) (limited *Binding, done func()) {
	return b.within(ctx, budget)
}

func (b *Binding) within(ctx context.Context, limit time.Duration) (*Binding, func()) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &BudgetError{limit})
	limited := *b
	limited.policies = make([]*policy, len(b.policies))
	for i, p := range b.policies {
		of := *p
		of.ctx = ctx
		limited.policies[i] = &of
	}
	return &limited, cancel
}

// overBudget is the result of a rule that could not be evaluated in time.
func overBudget(ctx context.Context, now time.Time) (rules.Result, string) {
	return rules.Result{RetryAt: now.Add(budgetRetry)}, context.Cause(ctx).Error()
}

// Slow reports whether policies of the stack's own namespace have custom rules, which take as long as
// the tenant likes.
func (b *Binding) Slow() bool {
	for _, p := range b.policies {
		if !strings.HasPrefix(p.name, yubav1.PolicyKind+"/") {
			continue
		}
		for _, r := range p.rules {
			if r.custom != nil {
				return true
			}
		}
	}
	return false
}

type aside struct{}

// Aside has the rules in Rego of judgements in a context evaluated by this evaluator instead of the
// judge's own: a question must not keep the processes busy that plans wait for.
func (e *Evaluator) Aside(ctx context.Context) context.Context {
	return context.WithValue(ctx, aside{}, e)
}

// by is the evaluator of a judgement; nil for none.
func (a *attachment) by(ctx context.Context) *Evaluator {
	if e, ok := ctx.Value(aside{}).(*Evaluator); ok && a.evaluator != nil {
		return e
	}
	return a.evaluator
}
