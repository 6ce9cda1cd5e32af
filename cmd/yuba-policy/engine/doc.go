// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine evaluates bundles of Rego with OPA.
//
// Terms:
//
//   - A bundle has modules (*.rego), tests (*_test.rego) and data (data.json, data.yaml), as in a
//     directory of Conftest or OPA. A module is written in Rego v1 or v0; each file may have its own.
//   - A rule is deny, violation or warn, or begins with one of these and "_", in the package that is
//     evaluated. Each of its results is a finding: a string, or an object with a string "msg". True
//     is a finding, too.
//   - Members are the parts of the input: those of the plan's JSON, and "facts".
//
// Invariants:
//
//   - A bundle has no network, no environment, no random numbers, and no clock but the caller's.
//   - An error of a built-in function is an error of the evaluation, never a rule that does not match.
//   - A bundle without rules is an error, and so is a result that is no finding: neither may look
//     like a plan without violations.
//   - An evaluation ends with its timeout, as far as OPA's functions do. The caller ends the process
//     otherwise.
package engine
