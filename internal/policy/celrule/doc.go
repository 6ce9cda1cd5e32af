// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package celrule has rules that are one expression in CEL over the facts of a plan, such as
//
//	facts.changes.all(c, c.type != "aws_db_instance" || !c.destroys)
//
// Terms:
//
//   - A rule is a boolean expression; a plan violates it if it is false.
//   - The variable facts is the document of package facts. Every documented field is there: those
//     that JSON leaves out have their empty value. Times are timestamps.
//
// Invariants:
//
//   - A rule that depends on an unknown or sensitive value does not pass, and its finding names the
//     path. A rule that has its result without that value has it: false && unknown is false.
//   - A rule that reads a field that facts do not have is refused when it is declared, with line and
//     column.
//   - An evaluation is limited in time and in what it creates and compares (package expression).
package celrule
