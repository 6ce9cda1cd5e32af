// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// UnknownError is the value of a part of a variable that is not known. An evaluation that depends on
// it has this error. Give it to an expression with types.WrapErr.
type UnknownError struct{ Path, Why string }

func (e *UnknownError) Error() string { return e.Path + " " + e.Why }

// SyntaxError is the first mistake in an expression.
type SyntaxError struct {
	Line, Column int
	Message      string
	text         string
}

func (e *SyntaxError) Error() string { return e.text }

// syntaxError adds the place of the first mistake to a message.
func syntaxError(issues *cel.Issues, text string) error {
	list := issues.Errors()
	if len(list) == 0 {
		return &SyntaxError{Line: 1, Column: 1, Message: text, text: text}
	}
	// CEL counts columns from 0.
	return &SyntaxError{Line: list[0].Location.Line(), Column: list[0].Location.Column() + 1, Message: list[0].Message, text: text}
}

// unknownIn returns the first error inside of a value. CEL's own comparisons take two values that
// cannot be compared for equal ones.
func unknownIn(value ref.Val, left int) ref.Val {
	found, _ := unknownWithin(value, left)
	return found
}

// unknownWithin stops after left elements: the purse is empty then, too.
func unknownWithin(value ref.Val, left int) (found ref.Val, rest int) {
	if left -= elementBytes; left < 0 {
		return nil, left
	}
	switch value := value.(type) {
	case *types.Err:
		return value, left
	case *types.Optional:
		if value.HasValue() {
			return unknownWithin(value.GetValue(), left)
		}
	case traits.Mapper:
		for i := value.Iterator(); i.HasNext() == types.True && left >= 0; {
			if found, left = unknownWithin(value.Get(i.Next()), left); found != nil {
				return found, left
			}
		}
	case traits.Lister:
		for i := value.Iterator(); i.HasNext() == types.True && left >= 0; {
			if found, left = unknownWithin(i.Next(), left); found != nil {
				return found, left
			}
		}
	}
	return nil, left
}
