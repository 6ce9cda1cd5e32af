// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package composition

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/expression"
)

// The variables of expressions.
const (
	varSpec, varMetadata, varResources = "spec", "metadata", "resources"
	// varSelf is the only one of readyWhen.
	varSelf = "self"
)

// textName and textNamespace are the texts for the instance's name and namespace.
const textName, textNamespace = "${metadata.name}", "${metadata.namespace}"

const (
	left, escape = "${", "$${"
	// maxParts limits the expressions of a text.
	maxParts = 64
)

// text is a string with expressions.
type text struct {
	parts []part
}

// part is a literal or an expression.
type part struct {
	literal string
	code    *expression.Expression
	written string
}

// whole reports whether a text is one expression.
func (t *text) whole() bool { return len(t.parts) == 1 && t.parts[0].code != nil }

// parseText reads a text with expressions over the variables.
func parseText(in string, variables ...string) (*text, error) {
	t := &text{}
	literal := ""
	for in != "" {
		at := strings.Index(in, left)
		if at < 0 {
			break
		}
		if at > 0 && strings.HasPrefix(in[at-1:], escape) {
			literal, in = literal+in[:at-1]+left, in[at+len(left):]
			continue
		}
		literal += in[:at]
		end := closing(in[at+len(left):])
		if end < 0 {
			return nil, fmt.Errorf("the expression %.100q does not end: } is missing; write $${ for the text ${ itself", in[at:])
		}
		if literal != "" {
			t.parts = append(t.parts, part{literal: literal})
			literal = ""
		}
		written := strings.TrimSpace(in[at+len(left) : at+len(left)+end])
		code, err := expression.NewValue(written, variables...)
		if err != nil {
			return nil, err
		}
		if t.parts = append(t.parts, part{code: code, written: written}); len(t.parts) > maxParts {
			return nil, fmt.Errorf("it has more than %d parts", maxParts)
		}
		in = in[at+len(left)+end+1:]
	}
	if literal += in; literal != "" || len(t.parts) == 0 {
		t.parts = append(t.parts, part{literal: literal})
	}
	return t, nil
}

// closing is the place of the brace that ends an expression; -1 for none. Braces in strings of CEL do
// not count.
func closing(in string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(in); i++ {
		switch c := in[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		}
	}
	return -1
}

// value evaluates a text; some is false if it is an optional without value. textOnly makes text of
// numbers and booleans.
func (t *text) value(ctx context.Context, values map[string]any, textOnly bool) (value any, some bool, err error) {
	if t.whole() {
		value, some, err = t.parts[0].code.Value(ctx, values)
		if err != nil || !some || !textOnly {
			return value, some, explain(err, t.parts[0].written)
		}
		text, err := scalar(value, t.parts[0].written)
		return text, true, err
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.code == nil {
			b.WriteString(p.literal)
			continue
		}
		value, some, err := p.code.Value(ctx, values)
		if err != nil {
			return nil, false, explain(err, p.written)
		}
		if !some {
			continue
		}
		text, err := scalar(value, p.written)
		if err != nil {
			return nil, false, err
		}
		b.WriteString(text)
	}
	return b.String(), true, nil
}

// scalar is a value as text.
func scalar(value any, written string) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", fmt.Errorf("${%s} is not a text, number or boolean", written)
}

// explain says what a missing key means.
func explain(err error, written string) error {
	if err == nil || !strings.Contains(err.Error(), "no such key") {
		return err
	}
	cause := err
	for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
		cause = next
	}
	return fmt.Errorf("${%s}: %w; it has no value here: sensitive outputs never have one. Give the field a default, or write an optional one, as in spec.?field", written, cause)
}
