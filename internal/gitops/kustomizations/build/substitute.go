// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/kit/yamltext"
)

const (
	// substituteKey is the label or annotation that excludes an object from substitution.
	substituteKey = "kustomize.toolkit.fluxcd.io/substitute"
	disabled      = "disabled"
)

// The limits of hostile texts: envsubst copies the text for every escaped character, and tries
// patterns at every position of a value.
const (
	maxEscapeCost   = 4 << 30
	maxTrimmedValue = 8 << 10
	// maxExpressions limits the parser's recursion.
	maxExpressions = 50_000
)

// undefinedError lists variables of an object without a value.
type undefinedError struct{ names []string }

func (e *undefinedError) Error() string {
	return fmt.Sprintf("no value for %s: strict substitution requires one, or a default as in ${%s:=…}; $${%s} is not substituted",
		strings.Join(e.names, ", "), e.names[0], e.names[0])
}

// expressionError is an invalid expression. Its text finds the line, but may contain a secret.
type expressionError struct {
	text string
	err  error
}

func (e *expressionError) Error() string { return e.err.Error() }

func (e *expressionError) Unwrap() error { return e.err }

// unreadable returns the first invalid expression of a text, without its closing brace.
func unreadable(text string) string {
	for start := 0; ; {
		at := strings.Index(text[start:], "${")
		if at < 0 {
			return ""
		}
		start += at + 2
		if at > 0 && text[start-3] == '$' {
			continue
		}
		line, _, _ := strings.Cut(text[start-2:], "\n")
		expression, _, closed := strings.Cut(line, "}")
		whole := expression
		if closed {
			whole += "}"
		}
		if _, err := parse.Parse(whole); err != nil && !strings.Contains(expression[2:], "${") {
			return expression
		}
	}
}

// substitute replaces the variables in an object's YAML, so that ${replicas} can become a number.
func substitute(object map[string]any, vars map[string]string, strict bool) (map[string]any, error) {
	data, err := yamltext.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write it as YAML: %w", err)
	}
	text := string(data)
	if !strings.Contains(text, "$") {
		return object, nil
	}
	if n := strings.Count(text, "${"); n > maxExpressions {
		return nil, fmt.Errorf("it has %d expressions; at most %d are allowed", n, maxExpressions)
	}
	if n := strings.Count(text, "$$") + strings.Count(text, `\\`) + strings.Count(text, `\/`); n > maxEscapeCost/len(text) {
		return nil, fmt.Errorf("it has %d escaped characters; in an object of %d bytes, at most %d are allowed", n, len(text), maxEscapeCost/len(text))
	}
	parsed, err := parse.Parse(text)
	if err != nil {
		return nil, &expressionError{unreadable(text),
			fmt.Errorf("%w; write $${…} unless it is a variable, or annotate the object with %s: %s", err, substituteKey, disabled)}
	}
	c := &checker{vars: vars, missing: map[string]bool{}}
	size, err := c.size(parsed.Root)
	if err != nil {
		return nil, err
	}
	if strict && len(c.missing) > 0 {
		return nil, &undefinedError{slices.Sorted(maps.Keys(c.missing))}
	}
	if size > maxSubstituted {
		return nil, fmt.Errorf("it would have more than %d MiB with its variables' values", maxSubstituted>>20)
	}
	replaced, err := envsubst.Eval(text, func(name string) (string, bool) {
		value, known := vars[name]
		return value, known || !strict
	})
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	converted, err := yaml.YAMLToJSON([]byte(replaced))
	if err == nil {
		err = utiljson.Unmarshal(converted, &result)
	}
	if err != nil {
		// The parser's error may quote a value.
		at := &positioned{}
		where := ""
		if errors.As(syntaxError("", err), &at) && at.line > 0 {
			where = fmt.Sprintf(", at line %d of it", at.line)
		}
		return nil, fmt.Errorf("with its variables' values it is not valid YAML%s; quote variables whose values contain colons, braces or quotes", where)
	}
	return result, nil
}

// checker finds the missing variables and the resulting size of a template before its execution.
type checker struct {
	vars    map[string]string
	missing map[string]bool
}

// size returns an upper bound of a node's result. It stops above the limit.
func (c *checker) size(node parse.Node) (int, error) {
	total := 0
	for total <= maxSubstituted {
		switch n := node.(type) {
		case *parse.TextNode:
			return total + len(n.Value), nil
		case *parse.FuncNode:
			size, err := c.function(n)
			return total + size, err
		case *parse.ListNode:
			// A list contains a node and the rest.
			for _, left := range n.Nodes[:len(n.Nodes)-1] {
				size, err := c.size(left)
				if err != nil {
					return 0, err
				}
				total += size
			}
			node = n.Nodes[len(n.Nodes)-1]
		default:
			return total, nil
		}
	}
	return total, nil
}

// function is size of ${…}.
func (c *checker) function(n *parse.FuncNode) (int, error) {
	value, known := c.vars[n.Param]
	switch n.Name {
	case "-", "+", "=", "?", ":-", ":+", ":=", ":?":
	default:
		if !known {
			c.missing[n.Param] = true
		}
	}
	sum, longest := 0, 0
	for _, arg := range n.Args {
		size, err := c.size(arg)
		if err != nil {
			return 0, err
		}
		sum, longest = sum+size, max(longest, size)
	}
	switch n.Name {
	case "#", "##", "%", "%%":
		if len(n.Args) > 0 && len(value)+longest > maxTrimmedValue {
			return 0, fmt.Errorf("${%s%s…}: values of more than %d bytes are not trimmed", n.Param, n.Name, maxTrimmedValue)
		}
		return len(value), nil
	case "/", "/#", "/%":
		return len(value) + sum, nil
	case "//":
		if longest > 0 && len(value) > maxSubstituted/longest {
			return 0, fmt.Errorf("${%s//…}: the value is too long to be replaced in", n.Param)
		}
		return (len(value) + 1) * (longest + 1), nil
	}
	return max(len(value), sum), nil
}
