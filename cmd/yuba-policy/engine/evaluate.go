// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/yuba-dev/yuba/internal/policy/rego/wire"
)

// evaluate evaluates the rules of a bundle.
func (b *bundle) evaluate(ctx context.Context, input ast.Value, now time.Time, timeout time.Duration) (*wire.Findings, error) {
	ctx, stop := withProcessorTime(ctx, timeout)
	defer stop()
	parts, errs := make([]ast.Object, len(b.queries)), make([]error, len(b.queries))
	var all sync.WaitGroup
	for i := range b.queries {
		all.Go(func() { parts[i], errs[i] = evaluateOne(ctx, &b.queries[i], input, now) })
	}
	all.Wait()
	if context.Cause(ctx) == errTimeout {
		return nil, fmt.Errorf("the rules need more than %s of the processor", timeout)
	}
	found := ast.NewObject()
	for i, part := range parts {
		if errs[i] != nil {
			return nil, failed(errs[i])
		}
		part.Foreach(found.Insert)
	}
	return b.findings(found)
}

// evaluateOne never panics: a panic in a goroutine would end the process.
func evaluateOne(ctx context.Context, query *rego.PreparedEvalQuery, input ast.Value, now time.Time) (found ast.Object, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("OPA failed: %v", p)
		}
	}()
	results, err := query.Eval(ctx, rego.EvalParsedInput(input), rego.EvalTime(now))
	if err != nil {
		return nil, err
	}
	if len(results) != 1 {
		return nil, fmt.Errorf("the query has %d results, expected 1", len(results))
	}
	found, ok := results[0].Bindings["found"].(ast.Object)
	if !ok {
		return nil, errors.New("the query has no result")
	}
	return found, nil
}

// values keeps OPA's values, of which findings need little.
func values(term *ast.Term, _ *rego.EvalContext) (any, error) { return term.Value, nil }

// findings translates the values of the rules.
func (b *bundle) findings(found ast.Object) (*wire.Findings, error) {
	f := &wire.Findings{}
	skip := exceptions(found)
	for _, name := range b.Rules {
		kind, rest, _ := strings.Cut(name, "_")
		if skip[rest] {
			continue
		}
		list, omitted := &f.Denied, &f.DeniedOmitted
		if kind == "warn" {
			list, omitted = &f.Warned, &f.WarnedOmitted
		}
		term := found.Get(ast.StringTerm(name))
		if term == nil {
			continue
		}
		defined, _ := term.Value.(*ast.Array)
		for i := range defined.Len() {
			err := results(name, defined.Elem(i), func(one wire.Finding) {
				if len(*list) >= wire.MaxFindings {
					*omitted++
					return
				}
				*list = append(*list, one)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// results calls add for each finding in the value of a rule.
func results(name string, value *ast.Term, add func(wire.Finding)) error {
	var err error
	each := func(one *ast.Term) {
		finding, wrong := result(name, one)
		if wrong != nil && err == nil {
			err = wrong
		}
		add(finding)
	}
	switch v := value.Value.(type) {
	case ast.Set:
		for _, one := range v.Slice() {
			each(one)
		}
	case *ast.Array:
		v.Foreach(each)
	case ast.Boolean:
		if v {
			add(wire.Finding{Rule: name, Message: "the rule " + name + " is true"})
		}
	case ast.Object:
		// In Rego v0, deny[msg] = value is an object of findings.
		if v.Get(ast.StringTerm("msg")) != nil {
			each(value)
			break
		}
		v.Foreach(func(key, _ *ast.Term) { each(key) })
	default:
		each(value)
	}
	return err
}

// addresses are the members of a finding that may have a resource's address.
var addresses = []string{"address", "resource"}

// maxMessage limits a message, in bytes.
const maxMessage = 2000

func result(name string, value *ast.Term) (wire.Finding, error) {
	f := wire.Finding{Rule: name}
	switch v := value.Value.(type) {
	case ast.String:
		f.Message = string(v)
	case ast.Object:
		message := v.Get(ast.StringTerm("msg"))
		if message == nil {
			return f, fmt.Errorf("the rule %s has a result without \"msg\"", name)
		}
		text, ok := message.Value.(ast.String)
		if !ok {
			return f, fmt.Errorf("the rule %s has a result whose \"msg\" is not a string", name)
		}
		f.Message = string(text)
		for _, key := range addresses {
			if at := v.Get(ast.StringTerm(key)); at != nil && f.Address == "" {
				text, _ := at.Value.(ast.String)
				f.Address = string(text)
			}
		}
	default:
		return f, fmt.Errorf("the rule %s has a result that is neither a string nor an object with \"msg\"", name)
	}
	f.Message = strings.Join(strings.Fields(f.Message), " ")
	if len(f.Message) > maxMessage {
		f.Message = strings.ToValidUTF8(f.Message[:maxMessage], "") + "…"
	}
	if f.Message == "" {
		f.Message = "the rule " + name + " gives no message"
	}
	return f, nil
}

// exceptions are the endings of rules that do not count, as Conftest has them: exception[rules] with
// rules = ["name"] excepts deny_name; "" excepts deny.
func exceptions(found ast.Object) map[string]bool {
	skip := map[string]bool{}
	term := found.Get(ast.StringTerm(exceptionRule))
	if term == nil {
		return skip
	}
	var collect func(t *ast.Term)
	collect = func(t *ast.Term) {
		switch v := t.Value.(type) {
		case ast.String:
			skip[string(v)] = true
		case *ast.Array:
			v.Foreach(collect)
		case ast.Set:
			for _, one := range v.Slice() {
				collect(one)
			}
		}
	}
	collect(term)
	return skip
}
