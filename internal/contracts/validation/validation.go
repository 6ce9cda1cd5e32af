// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/kit/expression"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

const (
	// self is the name of the value in rules, as in those of CustomResourceDefinitions.
	self = "self"
	// maxRules and timeout limit what one value costs: each rule takes at most about 100 ms.
	maxRules = 50
	timeout  = 2 * time.Second
)

// Rule is a validation as a contract declares it.
type Rule struct {
	// Text is a boolean CEL expression.
	Text string
	// Message says what is wrong when the expression is false. The default is the expression.
	Message string
}

// Validations are the compiled rules of a contract. They are safe for concurrent use.
type Validations struct{ rules []compiled }

type compiled struct {
	rule  Rule
	code  *expression.Expression
	reads paths.Set
	// at is where findings are: the path, if the rule reads only one.
	at paths.Path
}

// Compile compiles the rules of a contract of a type.
func Compile(of shape.Type, rules []Rule) (*Validations, error) {
	if len(rules) > maxRules {
		return nil, fmt.Errorf("the contract has %d validations: at most %d are allowed", len(rules), maxRules)
	}
	v := &Validations{}
	for i, rule := range rules {
		code, err := expression.NewOfAny(rule.Text, cel.BoolType, self)
		if err != nil {
			return nil, fmt.Errorf("validation %d: %w", i+1, err)
		}
		var list []paths.Path
		for _, access := range code.Reads(self) {
			p := pathOf(access)
			if _, err := of.At(p); err != nil {
				return nil, fmt.Errorf("validation %d, '%s', reads what the contract does not have: %w", i+1, shorten.Cut(rule.Text, 80), err)
			}
			list = append(list, p)
		}
		c := compiled{rule: rule, code: code, reads: paths.Of(list...)}
		if distinct := c.reads.Paths(); len(distinct) == 1 {
			c.at = distinct[0]
		}
		v.rules = append(v.rules, c)
	}
	return v, nil
}

func pathOf(access expression.Access) paths.Path {
	var p paths.Path
	for _, part := range access {
		switch part := part.(type) {
		case string:
			p = p.Attribute(part)
		case int:
			p = p.Element(part)
		}
	}
	return p
}

// Check evaluates the rules on a delivered value, which may be unknown in part. The error is that of
// the context: there is no result then.
func (v *Validations) Check(ctx context.Context, value cty.Value) (breaks, unknown []conform.Finding, err error) {
	if v == nil || len(v.rules) == 0 {
		return nil, nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	value, _ = value.UnmarkDeep()
	values := map[string]any{self: plain(value)}
	for _, c := range v.rules {
		if !document.Known(value, c.reads) {
			unknown = append(unknown, conform.Finding{Path: c.at, Why: conform.NotYet, Got: c.says(), Count: 1})
			continue
		}
		ok, failed := c.code.Bool(limited, values)
		switch {
		case ctx.Err() != nil:
			return nil, nil, fmt.Errorf("evaluate the validations of a contract: %w", ctx.Err())
		case failed != nil:
			breaks = append(breaks, c.finding(explain(failed)))
		case !ok:
			breaks = append(breaks, c.finding(c.says()))
		}
	}
	return breaks, unknown, nil
}

func (c compiled) finding(text string) conform.Finding {
	return conform.Finding{Path: c.at, Why: conform.Validation, Got: text, Count: 1}
}

func (c compiled) says() string {
	if c.rule.Message != "" {
		return shorten.Cut(shorten.Line(c.rule.Message), 300)
	}
	return shorten.Cut(strings.TrimSpace(c.rule.Text), 300)
}

// plain returns a value as CEL takes it. Rules do not read unknown parts; they are null.
func plain(v cty.Value) any {
	if !v.IsKnown() || v.IsNull() {
		return nil
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		f := v.AsBigFloat()
		if i, exact := f.Int64(); exact == 0 && f.IsInt() {
			return i
		}
		float, _ := f.Float64()
		return float
	case ty.IsObjectType(), ty.IsMapType():
		members := map[string]any{}
		for name, member := range v.AsValueMap() {
			members[name] = plain(member)
		}
		return members
	}
	elements := []any{}
	for _, element := range v.AsValueSlice() {
		elements = append(elements, plain(element))
	}
	return elements
}
