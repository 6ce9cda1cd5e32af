// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package validation evaluates the validations of a contract: CEL expressions over its value, such as
//
//	self.subnets.size() >= 2
//
// Nouns:
//
//   - A rule is an expression and a message. self is the delivered value: defaults are filled in,
//     and optional attributes without one are null.
//   - What a rule reads is known from its text: a rule that reads a path that the contract's type does
//     not have is refused when it is declared.
//
// Invariants:
//
//   - A rule is evaluated only if all that it reads is known; else it is unknown until the apply.
//   - A rule that fails to evaluate, or costs too much, breaks: rules fail closed.
//   - The evaluation of all rules of a contract is limited in time, and each in what it creates and
//     compares (package expression).
//   - Findings have the rule's message and never the value, also when a rule fails to evaluate: errors
//     of CEL quote keys and values.
//
// It reads nothing but the value it is given; the context only ends an evaluation.
package validation
