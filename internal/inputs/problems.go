// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"
)

// Problem is one thing that is missing or wrong.
type Problem struct {
	// Field is the place in the object, as in spec.varsFrom[1].
	Field string
	// Reference is the object concerned, if one is.
	Reference Reference
	// Key is the key of that object concerned, if one is.
	Key string
	// Reason says what is wrong, without any value.
	Reason string
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

// Error puts one problem on a line.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return fmt.Sprintf("%d inputs are missing or wrong:\n  %s", len(lines), strings.Join(lines, "\n  "))
}
