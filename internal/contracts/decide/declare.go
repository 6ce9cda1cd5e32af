// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// Consumer is a stack's declaration that it consumes a contract.
type Consumer struct {
	// Name is NAMESPACE/NAME of the stack.
	Name string
	// As is the name of the variable.
	As    string
	Range versions.Range
	// Reads is the part that it reads, by default what its variable takes (shape.Reads).
	Reads    paths.Set
	Variable shape.Variable
	// Optional is set if the stack runs without the producer, with null.
	Optional bool
}

// Declaration are the facts about a consumer that is declared or changed: the contract's edition
// that it would read.
type Declaration struct {
	Contract            string
	Edition             Edition
	Private, Deprecated paths.Set
	Consumer            Consumer
}

// Problem is a reason against a declaration, or a warning.
type Problem struct {
	// Path is where it is, behind the contract's name: base.subnets[*].id.
	Path string
	// Message says what is wrong. It goes on after "CONSUMER reads PATH, which".
	Message string
}

// Declared is the answer to a declaration: it may be used if there are no problems.
type Declared struct{ Problems, Warnings []Problem }

// Declare decides whether a stack may consume a contract.
func Declare(d Declaration) Declared {
	var out Declared
	for _, found := range mismatches(d.Contract, d.Edition, d.Consumer) {
		out.Problems = append(out.Problems, Problem{found.path, found.says})
	}
	c := d.Consumer
	if c.Optional && !c.Variable.AcceptsNull() {
		out.Problems = append(out.Problems, Problem{d.Contract, fmt.Sprintf(
			"is null while there is no producer, as it is optional; the variable %s is not nullable and has no default", c.As)})
	}
	for _, p := range d.Private.Paths() {
		if c.Reads.Meets(p) && !c.Variable.Secret {
			out.Problems = append(out.Problems, Problem{p.In(d.Contract), fmt.Sprintf(
				"is private; declare the variable %s with sensitive = true or ephemeral = true", c.As)})
		}
	}
	for _, p := range d.Deprecated.Paths() {
		// Who takes everything does not use each part.
		if !c.Reads.IsAll() && c.Reads.Meets(p) {
			out.Warnings = append(out.Warnings, Problem{p.In(d.Contract), "is deprecated"})
		}
	}
	return out
}

// mismatch is a part of a contract that a consumer cannot take.
type mismatch struct{ path, says string }

// mismatches returns why a consumer cannot take an edition of a contract, whatever its value.
func mismatches(contract string, e Edition, c Consumer) []mismatch {
	var out []mismatch
	different := shape.Fits(e.Type, c.Variable.Type)
	for _, d := range different {
		out = append(out, mismatch{d.Path.In(contract), inEdition(contract, e, d, c.As)})
	}
	for _, p := range c.Reads.Paths() {
		if _, err := e.Type.At(p); err != nil && !named(different, p) {
			out = append(out, mismatch{p.In(contract), fmt.Sprintf("%s %s does not have (%v)", contract, e.Version, err)})
		}
	}
	return out
}

// named reports whether a difference of the types says already that a path is missing.
func named(list []shape.Difference, p paths.Path) bool {
	for _, d := range list {
		if d.Path.Meets(p) && len(d.Path) > 0 {
			return true
		}
	}
	return false
}

func inEdition(contract string, e Edition, d shape.Difference, variable string) string {
	switch d.Why {
	case shape.Missing:
		return fmt.Sprintf("%s %s does not have (the variable %s requires it: %s)", contract, e.Version, variable, d.Wanted)
	case shape.Nullable:
		return fmt.Sprintf("may be null in %s %s, and the variable %s requires it", contract, e.Version, variable)
	case shape.Length:
		return fmt.Sprintf("has %s elements in %s %s, and %s in the variable %s", d.Given, contract, e.Version, d.Wanted, variable)
	}
	return fmt.Sprintf("is %s in %s %s, and %s in the variable %s", d.Given, contract, e.Version, d.Wanted, variable)
}
