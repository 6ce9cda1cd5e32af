// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"slices"
	"strings"
)

// Part is the part of the inputs that a problem is about. It decides the reason of the condition.
// The first failing part counts, in this order.
type Part int

// The parts of a stack's inputs.
const (
	// PartAccess: the stack names an object of another namespace, which is not allowed.
	PartAccess Part = iota
	// PartTool: the tool's configuration file.
	PartTool
	// PartFiles: files from Secrets.
	PartFiles
	// PartVariables: variables and environment.
	PartVariables
	// PartTemplate: a template in the values.
	PartTemplate
	// PartBackend: additional settings of the backend.
	PartBackend
)

// Problem is a missing or invalid input.
type Problem struct {
	Part Part
	// Field is the path in the object, such as spec.varsFrom[1].
	Field string
	// Reference is the object concerned, if any.
	Reference Reference
	// Key is the key of that object, if any.
	Key string
	// Reason says what is wrong, without any value.
	Reason string
	// Lasting is true if only a change of the stack can fix it.
	Lasting bool
}

// String returns `spec.vars[0]: Secret ns/name: does not exist`.
func (p Problem) String() string {
	text := p.Field + ": "
	if p.Reference.Name != "" {
		text += p.Reference.String() + ": "
	}
	return text + p.Reason
}

// Error lists all problems of a stack's inputs. The user, or another stack that has not written its
// outputs yet, must act; retrying without a change of a reference is useless.
type Error struct {
	Problems []Problem
}

// Part returns the first part with a problem.
func (e *Error) Part() Part {
	first := e.Problems[0].Part
	for _, p := range e.Problems {
		first = min(first, p.Part)
	}
	return first
}

// Lasting reports whether only a change of the stack can fix one of the problems.
func (e *Error) Lasting() bool {
	return slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Lasting })
}

// Error lists one problem a line. If access is refused, only that is reported, as in
// tofu-controller.
func (e *Error) Error() string {
	for _, p := range e.Problems {
		if p.Part == PartAccess {
			return p.Reason
		}
	}
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return fmt.Sprintf("%d inputs are missing or wrong:\n  %s", len(lines), strings.Join(lines, "\n  "))
}
