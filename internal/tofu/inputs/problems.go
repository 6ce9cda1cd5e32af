// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"slices"
	"strings"
)

// Part is what a problem is about, so that it gets the right reason. Parts stand
// in the order in which they are needed: the first one that fails tells first.
type Part int

// The parts of a stack's inputs.
const (
	// PartAccess: an object of another namespace is named and must not be.
	PartAccess Part = iota
	// PartTool: the tool's own configuration file.
	PartTool
	// PartFiles: files that come from Secrets.
	PartFiles
	// PartVariables: variables and environment.
	PartVariables
	// PartTemplate: a template among the values.
	PartTemplate
	// PartBackend: what completes the backend's configuration.
	PartBackend
)

// Problem is one thing that is missing or wrong.
type Problem struct {
	Part Part
	// Field is the place in the object, as in spec.varsFrom[1].
	Field string
	// Reference is the object concerned, if one is.
	Reference Reference
	// Key is the key of that object concerned, if one is.
	Key string
	// Reason says what is wrong, without any value.
	Reason string
	// Lasting is true when only a change of the stack mends it.
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

// Error lists everything that is missing or wrong with a stack's inputs. The
// user, or another stack that has not written its outputs yet, must act; trying
// again without a change of a reference is pointless.
type Error struct {
	Problems []Problem
}

// Part is the first part that has a problem.
func (e *Error) Part() Part {
	first := e.Problems[0].Part
	for _, p := range e.Problems {
		first = min(first, p.Part)
	}
	return first
}

// Lasting is true when only a change of the stack mends one of the problems.
func (e *Error) Lasting() bool {
	return slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Lasting })
}

// Error puts one problem on a line. That something must not be read stands
// alone, as tofu-controller says it.
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
